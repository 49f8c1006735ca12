import { useSignal } from '@preact/signals';
import type { AgentList, AgentRow } from '../api-types.ts';
import { count, duration, percent, plural } from '../state/format.ts';
import { useResource } from '../state/resource.ts';
import { route, toHref } from '../state/router.ts';
import { who } from '../state/session.ts';
import type { Column } from '../ui/data-table.tsx';
import { bound, FilterText } from '../ui/fields.tsx';
import { Badge, CodeBlock, Empty, Status } from '../ui/parts.tsx';
import { oneLine } from '../ui/plain-text.ts';
import { ListScreen } from '../ui/screen.tsx';
import { AddAgent } from './add-agent.tsx';
import { Agent } from './agent.tsx';

export function Agents() {
  const [, name] = route.value.path;
  if (name === 'add') return <AddAgent />;
  return name === undefined ? <List /> : <Agent id={name} />;
}

const COLUMNS: readonly Column<AgentRow>[] = [
  { title: 'Agent', cell: 'agent_id' },
  { title: 'Health', width: '128px', cell: ({ health }) => <Status value={health.status} /> },
  {
    title: 'Reason',
    from: 'medium',
    cell: ({ health }) => (
      <span class="muted">{oneLine(health.message ?? health.reason ?? '', 120)}</span>
    ),
  },
  {
    title: 'Tools',
    width: '130px',
    from: 'small',
    cell: ({ tools, held }) => (
      <>
        {tools} {held > 0 && <Badge tone="warn">{held} held</Badge>}
      </>
    ),
  },
  { title: 'Speaks', width: '150px', cell: 'protocol', from: 'small' },
  { title: 'Tier', width: '80px', cell: 'trust_tier', from: 'large' },
  {
    title: 'Runs on',
    width: '100px',
    cell: ({ instances }) => plural(instances, 'node'),
    from: 'large',
  },
  {
    title: 'Calls (1 h)',
    width: '100px',
    align: 'end',
    from: 'medium',
    cell: ({ figures }) => (figures === undefined ? '' : count(figures.calls)),
  },
  {
    title: 'Errors',
    width: '80px',
    align: 'end',
    from: 'medium',
    cell: ({ figures }) => (figures?.calls ? percent(figures.errors, figures.calls) : ''),
  },
  {
    title: 'p95',
    width: '84px',
    align: 'end',
    from: 'large',
    cell: ({ figures }) => duration(figures?.p95_ms),
  },
];

function List() {
  const words = useSignal('');
  const agents = useResource<AgentList>('agents', {}, ({ type }) => type === 'agent');
  return (
    <ListScreen
      name="agents"
      title="Agents"
      lead={agents.data && plural(agents.data.agents.length, 'agent')}
      actions={
        who()?.rights.agents && (
          <a class="button main" href={toHref(['agents', 'add'])}>
            Add an agent
          </a>
        )
      }
      filters={
        <FilterText
          label="Filter agents"
          placeholder="Name, tag, protocol, health"
          {...bound(words)}
        />
      }
      from={agents}
      columns={COLUMNS}
      rowsOf={(data) =>
        data.agents.filter((agent) => textOf(agent).includes(words.value.trim().toLowerCase()))
      }
      keyOf={({ agent_id, node_id }) => `${agent_id}@${node_id}`}
      hrefOf={({ agent_id }) => toHref(['agents', agent_id])}
      empty={(data) =>
        data.agents.length === 0 ? <NoAgents /> : <Empty title="No agent matches." />
      }
    />
  );
}

function textOf({ agent_id, protocol, tags, health, trust_tier }: AgentRow): string {
  return [agent_id, protocol, health.status, trust_tier, ...tags].join(' ').toLowerCase();
}

function NoAgents() {
  return (
    <Empty title="No agents yet.">
      <p>Any MCP server, A2A agent, HTTP endpoint or process can be one. In a terminal:</p>
      <CodeBlock
        text="starloom agents add files -- npx -y @modelcontextprotocol/server-filesystem ."
        label="Command that adds an agent"
      />
      {!who()?.rights.agents && (
        <p>
          To add one here, sign in with a key that has the scope <code>admin:agents</code>.
        </p>
      )}
    </Empty>
  );
}
