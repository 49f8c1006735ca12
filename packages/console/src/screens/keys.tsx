import { useSignal } from '@preact/signals';
import type { CreatedKey, KeyList, KeyView } from '../api-types.ts';
import { useAction } from '../state/action.ts';
import { act } from '../state/api.ts';
import { useResource } from '../state/resource.ts';
import { who } from '../state/session.ts';
import { TableCard } from '../ui/data-table.tsx';
import { Confirm, ConfirmButton, Dialog } from '../ui/dialog.tsx';
import { ActionForm, bound, boundIn, PickField, TextField, TIERS } from '../ui/fields.tsx';
import { Badge, Button, CodeBlock, Loaded, PageHead, Status, Time } from '../ui/parts.tsx';
import { chosen, Tabs } from '../ui/tabs.tsx';
import { notify } from '../ui/toasts.tsx';
import { Words } from '../ui/words.tsx';
import { Decode, revocation, Simulate } from './tokens.tsx';

const VIEWS = ['keys', 'decode', 'simulate', 'revoked'] as const;
const TITLES = {
  keys: 'Keys',
  decode: 'Read a token',
  simulate: 'Simulate a call',
  revoked: 'Revoked',
};

export function Keys() {
  const view = chosen('tab', VIEWS);
  const isCreating = useSignal(false);
  const keys = useResource<KeyList>('keys');
  return (
    <div class="screen">
      <PageHead
        title="People and keys"
        lead="Who may call, with what, and what a token stands for."
      >
        {who()?.rights.keys && (
          <Button kind="main" onClick={() => (isCreating.value = true)}>
            Create a key
          </Button>
        )}
      </PageHead>
      <Tabs label="View" parameter="tab" titles={TITLES} current={view} />
      {view === 'decode' && <Decode onRevoked={keys.reload} />}
      {view === 'simulate' && <Simulate keys={keys.data?.keys ?? []} />}
      {view === 'keys' && (
        <Loaded from={keys} own="keys">
          {(data) => <KeyTable keys={data.keys} onDone={keys.reload} />}
        </Loaded>
      )}
      {view === 'revoked' && (
        <Loaded from={keys}>{(data) => <Revoked list={data} onDone={keys.reload} />}</Loaded>
      )}
      {isCreating.value && (
        <Create onClose={() => (isCreating.value = false)} onDone={keys.reload} />
      )}
    </div>
  );
}

function KeyTable({ keys, onDone }: { keys: readonly KeyView[]; onDone: () => void }) {
  return (
    <TableCard
      title="Keys"
      rows={keys}
      rowKey={({ key_id }) => key_id}
      columns={[
        {
          title: 'Key',
          cell: ({ key_id, is_mine }) => (
            <>
              <Words text={key_id} /> {is_mine && <Badge tone="info">this session</Badge>}
            </>
          ),
        },
        { title: 'Person or agent', cell: 'principal', from: 'small' },
        { title: 'State', cell: ({ state }) => <Status value={state} /> },
        { title: 'Tier', cell: 'tier', from: 'small' },
        {
          title: 'Scopes',
          cell: ({ scopes }) => <code>{scopes.join(' ') || 'none'}</code>,
          from: 'small',
        },
        { title: 'From', cell: 'source', from: 'medium' },
        {
          title: 'Expires',
          cell: ({ expires_at }) => (expires_at ? <Time at={expires_at} style="full" /> : 'never'),
          from: 'medium',
        },
        {
          title: 'Revoke',
          cell: (key) =>
            who()?.rights.keys && key.state === 'active' && key.source === 'state' ? (
              <Revoke keyView={key} onDone={onDone} />
            ) : null,
        },
      ]}
    />
  );
}

function Revoke(props: { keyView: KeyView; onDone: () => void }) {
  const { key_id, principal, is_mine } = props.keyView;
  return (
    <ConfirmButton
      name={`Revoke ${key_id}`}
      title={`Revoke the key ${key_id}?`}
      action="Revoke"
      onConfirm={async () => {
        await act('POST', `keys/${encodeURIComponent(key_id)}/revoke`);
        notify('ok', `The key ${key_id} is revoked.`);
        props.onDone();
      }}
    >
      <p>
        Requests of <Words text={principal} /> with it are refused from now on, and its open streams
        end. This cannot be undone.
      </p>
      {is_mine && (
        <p>
          <Badge tone="warn">yours</Badge> It opened this session: you will be signed out.
        </p>
      )}
    </ConfirmButton>
  );
}

function Create({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const created = useSignal<CreatedKey | undefined>(undefined);
  const creating = useAction();
  const form = useSignal({
    key_id: '',
    principal: '',
    scopes: 'toolset:agents',
    tier: 'org',
    hours: '',
  });
  const create = async () => {
    const { key_id, principal, scopes, tier, hours } = form.value;
    created.value = await act<CreatedKey>('POST', 'keys', {
      key_id,
      principal: principal || key_id,
      tier,
      scopes: scopes.split(/[\s,]+/).filter(Boolean),
      ...(hours !== '' && { expires_in_hours: Number(hours) }),
    });
    onDone();
  };
  if (created.value !== undefined) {
    return (
      <Dialog title={`The key ${created.value.key.key_id}`} onClose={onClose}>
        <p>Copy it now: it is shown once, and kept nowhere.</p>
        <CodeBlock text={created.value.secret} label="The key" />
        <footer>
          <Button kind="main" onClick={onClose}>
            I have copied it
          </Button>
        </footer>
      </Dialog>
    );
  }
  return (
    <Dialog title="Create a key" onClose={onClose}>
      <ActionForm
        action={creating}
        submit="Create"
        onSubmit={create}
        buttons={<Button onClick={onClose}>Cancel</Button>}
      >
        <TextField label="Name of the key" {...boundIn(form, 'key_id')} required />
        <TextField
          label="Person or agent"
          {...boundIn(form, 'principal')}
          hint="As the audit log names it; the name of the key by default"
        />
        <TextField
          label="Scopes"
          {...boundIn(form, 'scopes')}
          hint="Such as agent:percy, capability:files/read_file, toolset:agents, admin:calls"
        />
        <PickField label="Tier" options={TIERS} {...boundIn(form, 'tier')} />
        <TextField label="Expires after (hours, optional)" {...boundIn(form, 'hours')} />
      </ActionForm>
    </Dialog>
  );
}

function Revoked({ list, onDone }: { list: KeyList; onDone: () => void }) {
  const id = useSignal('');
  const kind = useSignal('grant');
  const asks = useSignal(false);
  const asking = useAction();
  return (
    <TableCard
      title="Revoked grants, persons and agents"
      label="Revocations"
      actions={<span class="muted small">epoch {list.epoch}</span>}
      empty="Nothing was revoked."
      rows={list.revocations}
      rowKey={({ kind: what, id: name, epoch }) => `${what} ${name} ${epoch}`}
      columns={[
        { title: 'What', cell: 'kind' },
        { title: 'Name', cell: 'id' },
        { title: 'Epoch', cell: 'epoch', align: 'end' },
        { title: 'Time', cell: ({ at }) => <Time at={at} style="full" /> },
      ]}
    >
      {who()?.rights.keys && (
        <ActionForm
          action={asking}
          kind="danger"
          submit="Revoke"
          onSubmit={async () => (asks.value = true)}
        >
          <PickField
            label="Revoke a"
            options={['grant', 'delegate', 'principal']}
            {...bound(kind)}
          />
          <TextField label="Name" {...bound(id)} required />
        </ActionForm>
      )}
      {asks.value && (
        <Confirm
          {...revocation(kind.value, id.value.trim(), onDone)}
          onClose={() => (asks.value = false)}
        />
      )}
    </TableCard>
  );
}
