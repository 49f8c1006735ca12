import { useSignal } from '@preact/signals';
import type { AgentList, DecodedToken, KeyView, Simulation } from '../api-types.ts';
import { act, GatewayError } from '../state/api.ts';
import { useResource } from '../state/resource.ts';
import { PickField, TextField } from '../ui/fields.tsx';
import { Badge, Button, Card, Facts, Json, Problem, Status, Time } from '../ui/parts.tsx';
import { Words } from '../ui/words.tsx';

/** What a passport or mandate stands for, as the gateway verifies it. */
export function Decode() {
  const token = useSignal('');
  const decoded = useSignal<DecodedToken | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const submit = async (event: Event) => {
    event.preventDefault();
    error.value = undefined;
    try {
      decoded.value = await act<DecodedToken>('POST', 'keys/decode', { token: token.value.trim() });
    } catch (problem) {
      decoded.value = undefined;
      error.value = problem;
    }
  };
  const found = decoded.value;
  return (
    <Card title="Read a passport or mandate">
      <form class="stack-form" onSubmit={(event) => void submit(event)}>
        <label for="token">Token</label>
        <textarea
          id="token"
          class="mono"
          spellcheck={false}
          value={token.value}
          onInput={(event) => {
            token.value = event.currentTarget.value;
          }}
        />
        <p class="muted small">The gateway verifies it; it is not stored.</p>
        <div class="buttons">
          <Button kind="main" type="submit">
            Read
          </Button>
        </div>
      </form>
      {error.value !== undefined && <Problem error={error.value} />}
      {found !== undefined && (
        <>
          <p>
            <Badge tone={found.valid ? 'ok' : 'bad'}>{found.valid ? 'valid' : 'refused'}</Badge>{' '}
            {found.kind}
          </p>
          {found.error && <Problem error={new GatewayError(found.error, 0)} />}
          <ol class="chain">
            {found.chain.map(({ kind, id }, index) => (
              <li key={`${kind} ${id} ${index}`}>
                <span class="link-box">
                  <Words text={id} /> <span class="muted small">{kind}</span>
                </span>
              </li>
            ))}
          </ol>
          <Facts
            rows={[
              ['Acts for', found.principal],
              ['Acts', found.delegate],
              ['Good at', found.audience],
              ['Grant', found.grant],
              ['May call', found.cap.join(', ')],
              ['Scopes', found.scp.join(', ')],
              ['Issued', found.issued_at && <Time at={found.issued_at} style="full" />],
              ['Expires', found.expires_at && <Time at={found.expires_at} style="full" />],
            ]}
          />
          <Json value={found.claims} label="Claims" />
        </>
      )}
    </Card>
  );
}

export function Simulate({ keys }: { keys: readonly KeyView[] }) {
  const agents = useResource<AgentList>('agents');
  const form = useSignal({ key_id: '', agent_id: '', capability: '' });
  const result = useSignal<Simulation | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const submit = async (event: Event) => {
    event.preventDefault();
    error.value = undefined;
    result.value = undefined;
    try {
      result.value = await act<Simulation>('POST', 'keys/simulate', form.value);
    } catch (problem) {
      error.value = problem;
    }
  };
  const set = (change: Partial<typeof form.value>) => {
    form.value = { ...form.value, ...change };
  };
  const names = [...new Set((agents.data?.agents ?? []).map(({ agent_id }) => agent_id))];
  return (
    <Card title="Would this call be allowed?">
      <p class="muted">
        Nothing is called: scopes and rules decide as they would for the real call.
      </p>
      <form class="stack-form" onSubmit={(event) => void submit(event)}>
        <PickField
          label="Key"
          value={form.value.key_id}
          options={keys.map(({ key_id }) => key_id)}
          set={(key_id) => set({ key_id })}
        />
        <PickField
          label="Agent"
          value={form.value.agent_id}
          options={names}
          set={(agent_id) => set({ agent_id })}
        />
        <TextField
          label="Capability"
          value={form.value.capability}
          set={(capability) => set({ capability })}
          required
        />
        <div class="buttons">
          <Button kind="main" type="submit">
            Simulate
          </Button>
        </div>
      </form>
      <div role="status">
        {result.value && (
          <p>
            <Status value={result.value.effect} />{' '}
            {result.value.rule && (
              <>
                decided by <code>{result.value.rule}</code>
                {'; '}
              </>
            )}
            {result.value.visible ? 'the caller sees the tool' : 'the caller does not see the tool'}
          </p>
        )}
      </div>
      {error.value !== undefined && <Problem error={error.value} />}
    </Card>
  );
}
