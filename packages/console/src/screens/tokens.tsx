import { useSignal } from '@preact/signals';
import type { AgentList, DecodedToken, KeyView, Simulation } from '../api-types.ts';
import { useAction } from '../state/action.ts';
import { act, GatewayError } from '../state/api.ts';
import { useResource } from '../state/resource.ts';
import { who } from '../state/session.ts';
import { Chain } from '../ui/chain.tsx';
import { ConfirmButton, type ConfirmProps } from '../ui/dialog.tsx';
import { ActionForm, bound, boundIn, PickField, TextField } from '../ui/fields.tsx';
import { Badge, Card, Facts, Json, Problem, Status, Time } from '../ui/parts.tsx';
import { notify } from '../ui/toasts.tsx';

/** What a passport or mandate stands for, as the gateway verifies it. */
export function Decode({ onRevoked }: { onRevoked: () => void }) {
  const token = useSignal('');
  const decoded = useSignal<DecodedToken | undefined>(undefined);
  const reading = useAction();
  const read = async () => {
    decoded.value = undefined;
    decoded.value = await act<DecodedToken>('POST', 'keys/decode', { token: token.value.trim() });
  };
  const grant = decoded.value?.grant;
  return (
    <Card title="Read a passport or mandate">
      <ActionForm action={reading} submit="Read" onSubmit={read}>
        <TextField
          label="Token"
          lines="code"
          {...bound(token)}
          hint="The gateway verifies it; it is not stored."
        />
      </ActionForm>
      {decoded.value !== undefined && <Decoded token={decoded.value} />}
      {grant !== undefined && decoded.value?.valid && who()?.rights.keys && (
        <div class="buttons">
          <ConfirmButton
            label="Revoke its grant"
            {...revocation('grant', grant, () => {
              onRevoked();
              void reading.run(read);
            })}
          />
        </div>
      )}
    </Card>
  );
}

function Decoded({ token }: { token: DecodedToken }) {
  if (token.kind === 'unknown') {
    return (
      <p role="status">
        <Badge tone="bad">unknown</Badge> This is no passport and no mandate of a gateway.
      </p>
    );
  }
  return (
    <>
      <p role="status">
        <Badge tone={token.valid ? 'ok' : 'bad'}>{token.valid ? 'valid' : 'refused'}</Badge>{' '}
        {token.kind}
      </p>
      {token.error && <Problem error={new GatewayError(token.error, 0)} />}
      <Chain links={token.chain} />
      <Facts
        rows={[
          ['Acts for', token.principal],
          ['Acts', token.delegate],
          ['Good at', token.audience],
          ['Grant', token.grant],
          ['May call', token.cap.join(', ')],
          ['Scopes', token.scp.join(', ')],
          ['Issued', token.issued_at && <Time at={token.issued_at} style="full" />],
          ['Expires', token.expires_at && <Time at={token.expires_at} style="full" />],
        ]}
      />
      <Json value={token.claims} label="Claims" />
    </>
  );
}

/** Asks, and then refuses what stands for a grant, a delegate or a principal. */
export function revocation(kind: string, id: string, onDone: () => void): ConfirmProps {
  return {
    title: `Revoke the ${kind} ${id}?`,
    action: 'Revoke',
    children: <p>Passports and mandates that stand for it are refused from now on.</p>,
    onConfirm: async () => {
      await act('POST', 'keys/revoke-grant', { kind, id });
      notify('ok', `The ${kind} ${id} is revoked.`);
      onDone();
    },
  };
}

export function Simulate({ keys }: { keys: readonly KeyView[] }) {
  const agents = useResource<AgentList>('agents');
  const form = useSignal({ key_id: '', agent_id: '', capability: '' });
  const result = useSignal<Simulation | undefined>(undefined);
  const simulating = useAction();
  const simulate = async () => {
    result.value = undefined;
    result.value = await act<Simulation>('POST', 'keys/simulate', form.value);
  };
  const names = [...new Set((agents.data?.agents ?? []).map(({ agent_id }) => agent_id))];
  return (
    <Card title="Would this call be allowed?">
      <p class="muted">
        Nothing is called: scopes and rules decide as they would for the real call.
      </p>
      <ActionForm action={simulating} submit="Simulate" onSubmit={simulate}>
        <PickField
          label="Key"
          options={keys.map(({ key_id }) => key_id)}
          {...boundIn(form, 'key_id')}
        />
        <PickField label="Agent" options={names} {...boundIn(form, 'agent_id')} />
        <TextField label="Capability" {...boundIn(form, 'capability')} required />
      </ActionForm>
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
    </Card>
  );
}
