import type { AgentDetail, PinView, ToolView } from '../api-types.ts';
import { useAction } from '../state/action.ts';
import { act } from '../state/api.ts';
import { count, duration, percent, plural } from '../state/format.ts';
import { useResource } from '../state/resource.ts';
import { navigate, toHref } from '../state/router.ts';
import { TableCard } from '../ui/data-table.tsx';
import { ConfirmButton } from '../ui/dialog.tsx';
import {
  Badge,
  Button,
  Card,
  Empty,
  Facts,
  Json,
  PageHead,
  Problem,
  Status,
  Time,
} from '../ui/parts.tsx';
import { plainText } from '../ui/plain-text.ts';
import { DetailScreen } from '../ui/screen.tsx';
import { notify } from '../ui/toasts.tsx';
import { Prose, Words } from '../ui/words.tsx';
import { type AgentProps, HeldTools, pathOf } from './held-tools.tsx';

export function Agent({ id }: { id: string }) {
  const resource = useResource<AgentDetail>(
    `agents/${encodeURIComponent(id)}`,
    {},
    (line) => line.type === 'agent' && line.agent_id === id,
  );
  return (
    <DetailScreen
      name="agents"
      title="Agents"
      from={resource}
      missing={<Empty title="There is no such agent, or you may not use it." />}
    >
      {(agent) => <Detail agent={agent} resource={resource} />}
    </DetailScreen>
  );
}

function Detail({ agent, resource }: AgentProps) {
  const checking = useAction();
  const path = pathOf(agent);
  const { health, may } = agent;
  return (
    <>
      <PageHead
        title={<Words text={agent.agent_id} />}
        lead={agent.description && <Words text={agent.description} limit={300} />}
      >
        <a class="button main" href={toHref(['try', agent.agent_id])}>
          Try
        </a>
        {may.check && (
          <Button
            action={checking}
            does={async () => resource.set(await act('POST', `${path}/check`))}
          >
            Check now
          </Button>
        )}
        {may.drain && (
          <ConfirmButton
            kind="plain"
            title={`Drain ${agent.agent_id}?`}
            action="Drain"
            onConfirm={async () => {
              resource.set(await act('POST', `${path}/drain`));
              notify('ok', `${agent.agent_id} gets no new calls.`);
            }}
          >
            <p>Calls that run go on; new ones go to other instances or fallbacks.</p>
          </ConfirmButton>
        )}
        {may.remove && (
          <ConfirmButton
            title={`Remove ${agent.agent_id}?`}
            action="Remove"
            onConfirm={async () => {
              await act('DELETE', path);
              notify('ok', `${agent.agent_id} was removed.`);
              navigate(toHref(['agents']));
            }}
          >
            <p>Its tools disappear from every client. To bring it back, add it again.</p>
          </ConfirmButton>
        )}
      </PageHead>
      <Problem error={checking.error} />
      <Card title="Health" actions={<Status value={health.status} />}>
        {health.message && (
          <p>
            <Words text={health.message} limit={600} />
          </p>
        )}
        {health.fix && (
          <p>
            <strong>Fix:</strong> {plainText(health.fix)}
          </p>
        )}
        <Facts
          rows={[
            ['Since', health.since && <Time at={health.since} />],
            ['Checked', health.checked_at ? <Time at={health.checked_at} /> : 'never'],
            ['Answered in', duration(health.latency_ms)],
            ['Breaker', agent.breaker && <Status value={agent.breaker} />],
            ['Speaks', `${agent.protocol} over ${agent.transport}`],
            ['At', agent.endpoint.uri ?? agent.endpoint.command],
            ['Tier', agent.trust_tier],
            ['Version', agent.version],
            ['Tags', agent.tags.join(', ')],
            [
              'Falls back to',
              agent.fallbacks.length > 0 ? <Names names={agent.fallbacks} /> : undefined,
            ],
            ['Calls in the last hour', figuresOf(agent)],
          ]}
        />
        <p>
          <a href={toHref(['calls'], { agent: agent.agent_id })}>Calls of this agent</a>
        </p>
      </Card>
      <HeldTools agent={agent} resource={resource} />
      <Tools agent={agent} />
      <Instances agent={agent} resource={resource} />
      <History agent={agent} />
    </>
  );
}

function figuresOf({ figures }: AgentDetail): string {
  if (figures === undefined) return '';
  const { calls, errors, p95_ms } = figures;
  const p95 = p95_ms === undefined ? '' : `, p95 ${duration(p95_ms)}`;
  return `${count(calls)}, ${percent(errors, calls)} failed${p95}`;
}

function Names({ names }: { names: readonly string[] }) {
  return (
    <span class="chips">
      {names.map((name) => (
        <a key={name} href={toHref(['agents', name])}>
          {name}
        </a>
      ))}
    </span>
  );
}

function Tools({ agent }: { agent: AgentDetail }) {
  return (
    <Card title={plural(agent.capabilities.length, 'tool')}>
      {agent.missing.length > 0 && (
        <p class="note">
          The manifest declares {agent.missing.join(', ')}, but the agent does not offer{' '}
          {agent.missing.length === 1 ? 'it' : 'them'}.
        </p>
      )}
      {agent.capabilities.length === 0 && (
        <p class="muted">No tools are known. They are listed once the agent was reached.</p>
      )}
      <div>
        {agent.capabilities.map((tool) => (
          <ToolItem
            key={tool.name}
            tool={tool}
            agentId={agent.agent_id}
            pin={agent.pins.find(({ name, state }) => name === tool.name && state === 'approved')}
          />
        ))}
      </div>
    </Card>
  );
}

export function ToolItem(props: {
  tool: ToolView;
  agentId?: string;
  /** What was approved of it. */
  pin?: PinView | undefined;
}) {
  const { tool, agentId, pin } = props;
  return (
    <article class="tool">
      <div class="tool-head">
        <h3>
          <Words text={tool.title ?? tool.name} limit={100} />
        </h3>
        {tool.title && tool.title !== tool.name && (
          <code>
            <Words text={tool.name} />
          </code>
        )}
        {tool.streaming && <Badge tone="info">streams</Badge>}
        {tool.idempotent && <Badge tone="quiet">may be repeated</Badge>}
        {tool.annotations?.destructiveHint === true && <Badge tone="warn">may destroy</Badge>}
        {tool.annotations?.readOnlyHint === true && <Badge tone="quiet">reads only</Badge>}
        {agentId !== undefined && (
          <a href={toHref(['try', agentId, tool.name])} aria-label={`Try ${tool.name}`}>
            Try
          </a>
        )}
      </div>
      {tool.description && <Prose text={tool.description} />}
      {pin?.approved_at && (
        <p class="muted small">
          approved <Time at={pin.approved_at} />
          {pin.approved_by === 'first_use' ? ' when first seen' : ` by ${pin.approved_by}`}
        </p>
      )}
      {tool.input_schema && (
        <details>
          <summary>Schemas</summary>
          <Json value={tool.input_schema} label={`Input schema of ${tool.name}`} />
          {tool.output_schema && (
            <Json value={tool.output_schema} label={`Output schema of ${tool.name}`} />
          )}
        </details>
      )}
    </article>
  );
}

function Instances({ agent, resource }: AgentProps) {
  return (
    <TableCard
      title={plural(agent.instance_list.length, 'instance')}
      label="Instances"
      rows={agent.instance_list}
      rowKey={({ node_id }) => node_id}
      columns={[
        { title: 'Node', cell: 'node_id' },
        { title: 'State', cell: ({ state }) => <Status value={state} /> },
        { title: 'Health', cell: ({ health }) => <Status value={health.status} /> },
        {
          title: 'Reason',
          cell: ({ health, hold }) => (
            <Words text={hold?.message ?? health.message ?? health.reason ?? ''} limit={200} />
          ),
        },
        {
          title: 'Breaker',
          cell: ({ breaker }) => breaker && <Status value={breaker} />,
          from: 'medium',
        },
        { title: 'Version', cell: 'version', from: 'large' },
        {
          title: 'Drain',
          cell: ({ node_id, state }) =>
            agent.may.drain && agent.instance_list.length > 1 && state === 'active' ? (
              <ConfirmButton
                kind="plain"
                name={`Drain ${node_id}`}
                title={`Drain ${agent.agent_id}@${node_id}?`}
                action="Drain"
                onConfirm={async () =>
                  resource.set(await act('POST', `${pathOf(agent)}/drain`, { node_id }))
                }
              >
                <p>Calls that run there go on; new ones go to other instances.</p>
              </ConfirmButton>
            ) : null,
        },
      ]}
    />
  );
}

function History({ agent }: { agent: AgentDetail }) {
  return (
    <TableCard
      title="History of its health"
      empty="Nothing changed since the gateway started."
      rows={agent.history}
      rowKey={({ at, node_id, status }) => `${at} ${node_id} ${status}`}
      columns={[
        { title: 'Time', cell: ({ at }) => <Time at={at} style="full" /> },
        { title: 'Node', cell: 'node_id', from: 'small' },
        { title: 'Health', cell: ({ status }) => <Status value={status} /> },
        {
          title: 'Reason',
          cell: ({ message, reason }) => <Words text={message ?? reason ?? ''} limit={240} />,
        },
      ]}
    />
  );
}
