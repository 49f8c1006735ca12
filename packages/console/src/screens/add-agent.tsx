// Add an agent: say where it is, test it and see its tools, then save. Nothing is kept before that.

import { useSignal } from '@preact/signals';
import type { AddRequest, AgentDetail, AgentTest } from '../api-types.ts';
import { useAction } from '../state/action.ts';
import { act, GatewayError } from '../state/api.ts';
import { duration, plural } from '../state/format.ts';
import { navigate, toHref } from '../state/router.ts';
import { who } from '../state/session.ts';
import { ActionForm, boundIn, PickField, Segments, TextField, TIERS } from '../ui/fields.tsx';
import { Badge, Button, Card, Empty, PageHead, Problem } from '../ui/parts.tsx';
import { notify } from '../ui/toasts.tsx';
import { ToolItem } from './agent.tsx';

const PROTOCOLS = ['mcp', 'a2a', 'http', 'agent-communication-protocol'] as const;

const EMPTY = {
  id: '',
  kind: 'address' as 'address' | 'command',
  protocol: 'mcp',
  uri: '',
  command: '',
  header: '',
  tier: 'org',
};

export function AddAgent() {
  const draft = useSignal(EMPTY);
  const tested = useSignal<{ readonly key: string; readonly result: AgentTest } | undefined>(
    undefined,
  );
  const testing = useAction();
  const saving = useAction();
  const rights = who()?.rights;
  const request = toRequest(draft.value);
  const key = JSON.stringify(request);
  const result = tested.value?.key === key ? tested.value.result : undefined;
  const test = async () => {
    tested.value = { key, result: await act<AgentTest>('POST', 'agents/test', request) };
  };
  const save = async () => {
    await act<AgentDetail>('POST', 'agents', request);
    notify('ok', `${request.agent_id} was added.`);
    navigate(toHref(['agents', request.agent_id]));
  };
  if (rights?.agents === false) {
    return (
      <div class="screen">
        <PageHead title="Add an agent" />
        <Empty title="Your key may not add agents.">
          <p>
            It needs the scope <code>admin:agents</code>.
          </p>
        </Empty>
      </div>
    );
  }
  return (
    <div class="screen">
      <p class="crumbs">
        <a href={toHref(['agents'])}>Agents</a>
      </p>
      <PageHead title="Add an agent" lead="Test it, look at its tools, then save it." />
      <div class="two">
        <Card title="Where it is">
          <ActionForm
            action={testing}
            submit="Test"
            onSubmit={test}
            kind={result ? 'plain' : 'main'}
            after={
              <>
                <Button
                  kind={result?.reachable ? 'main' : 'plain'}
                  disabled={result === undefined}
                  action={saving}
                  does={save}
                >
                  Save
                </Button>
                {result === undefined && (
                  <span class="muted small">Test it before you save it.</span>
                )}
              </>
            }
          >
            <TextField
              label="Name"
              {...boundIn(draft, 'id')}
              hint="a-z, 0-9, - and _; clients see its tools as name.tool"
              required
            />
            <Segments
              legend="How it is reached"
              titles={{ address: 'At an address', command: 'A command' }}
              {...boundIn(draft, 'kind')}
            />
            {draft.value.kind === 'address' ? (
              <>
                <PickField label="Protocol" options={PROTOCOLS} {...boundIn(draft, 'protocol')} />
                <TextField
                  label="Address"
                  {...boundIn(draft, 'uri')}
                  hint="Such as https://node-1.internal/mcp"
                  required
                />
                <TextField
                  label="Authorization header (optional)"
                  {...boundIn(draft, 'header')}
                  hint="A reference such as env:FILES_TOKEN; never the secret itself"
                />
              </>
            ) : (
              <CommandField {...boundIn(draft, 'command')} isAllowed={rights?.commands === true} />
            )}
            <PickField label="Trust tier" options={TIERS} {...boundIn(draft, 'tier')} />
          </ActionForm>
        </Card>
        <Card title="What it offers">
          <div aria-live="polite">
            <Problem error={saving.error} />
            {testing.isBusy && <p>Asking the agent…</p>}
            {result === undefined && !testing.isBusy && (
              <p class="muted">After the test, its tools are listed here. Nothing is saved yet.</p>
            )}
            {result !== undefined && <Tested result={result} />}
          </div>
          {result?.tools.map((tool) => (
            <ToolItem key={tool.name} tool={tool} />
          ))}
        </Card>
      </div>
    </div>
  );
}

function Tested({ result }: { result: AgentTest }) {
  if (!result.reachable || result.error !== undefined) {
    const error = result.error ?? {
      code: 'AGENT_OFFLINE',
      message: 'The agent did not answer.',
      details: {},
    };
    return <Problem error={new GatewayError(error, 0)} />;
  }
  return (
    <p>
      <Badge tone="ok">answers</Badge> in {duration(result.duration_ms)}, with{' '}
      {plural(result.tools.length, 'tool')}
      {result.version && `, version ${result.version}`}
    </p>
  );
}

function CommandField(props: { value: string; set: (value: string) => void; isAllowed: boolean }) {
  if (!props.isAllowed) {
    return (
      <p class="note">
        A command runs on the machine of the gateway. That needs the scope <code>admin:agents</code>
        , a gateway on loopback, and <code>console.commands: true</code> in{' '}
        <code>starloom.yaml</code>. In a terminal it works now:{' '}
        <code>starloom agents add name -- command</code>
      </p>
    );
  }
  return (
    <TextField
      label="Command"
      value={props.value}
      set={props.set}
      hint="Runs on the machine of the gateway, such as: npx -y @modelcontextprotocol/server-filesystem ."
      required
    />
  );
}

function toRequest(draft: typeof EMPTY): AddRequest {
  const shared = { agent_id: draft.id.trim(), trust_tier: draft.tier };
  if (draft.kind === 'command') {
    const [command = '', ...args] = wordsOf(draft.command);
    return { ...shared, command, args };
  }
  const header = draft.header.trim();
  return {
    ...shared,
    protocol: draft.protocol,
    uri: draft.uri.trim(),
    ...(header !== '' && { headers: { Authorization: header } }),
  };
}

/** Words of a command; quotes keep blanks, and nothing is expanded. */
export function wordsOf(line: string): string[] {
  const found = line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g);
  return [...found].map(([, double, single, plain]) => double ?? single ?? plain ?? '');
}
