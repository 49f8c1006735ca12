import { useSignal } from '@preact/signals';
import type { ContextHistory, SessionDetail, SessionList, SessionRow } from '../api-types.ts';
import { duration, now, plural, toMs } from '../state/format.ts';
import { useInterest } from '../state/live.ts';
import { useResource } from '../state/resource.ts';
import { route, toHref } from '../state/router.ts';
import { type Column, PlainTable } from '../ui/data-table.tsx';
import {
  Card,
  CodeBlock,
  Empty,
  Facts,
  Json,
  Loaded,
  PageHead,
  Status,
  Time,
} from '../ui/parts.tsx';
import { DetailScreen, ListScreen } from '../ui/screen.tsx';
import { Words } from '../ui/words.tsx';

export function Sessions() {
  const [, id] = route.value.path;
  return id === undefined ? <List /> : <Session id={id} />;
}

const COLUMNS: readonly Column<SessionRow>[] = [
  { title: 'Session', cell: 'session_id' },
  { title: 'State', width: '120px', cell: ({ state }) => <Status value={state} /> },
  {
    title: 'Members',
    width: '150px',
    from: 'small',
    cell: ({ members, connected }) => `${members}, ${connected} connected`,
  },
  { title: 'Locks', width: '70px', align: 'end', cell: 'locks', from: 'small' },
  { title: 'Version', width: '80px', align: 'end', cell: 'version', from: 'small' },
  { title: 'Mode', width: '70px', cell: 'mode', from: 'medium' },
  { title: 'Owner', width: '140px', cell: 'principal', from: 'medium' },
  {
    title: 'Created',
    width: '120px',
    cell: ({ created_at }) => <Time at={created_at} />,
    from: 'medium',
  },
];

function List() {
  useInterest({ session: '*' });
  const sessions = useResource<SessionList>('sessions', {}, ({ type }) => type === 'session');
  return (
    <ListScreen
      name="sessions"
      title="Sessions"
      lead="What agents that work together share: members, context, locks."
      from={sessions}
      columns={COLUMNS}
      rowsOf={(data) => data.sessions}
      keyOf={({ session_id }) => session_id}
      empty={() => (
        <Empty title="No sessions yet.">
          <p>Agents open one with the coordination tools, or over JSON-RPC:</p>
          <CodeBlock
            text="starloom rpc session_manager.create '{}'"
            label="Command that creates a session"
          />
        </Empty>
      )}
    />
  );
}

function Session({ id }: { id: string }) {
  useInterest({ session: id });
  const path = `sessions/${encodeURIComponent(id)}`;
  const resource = useResource<SessionDetail>(
    path,
    {},
    (line) => line.type === 'session' && (line.session_id === undefined || line.session_id === id),
  );
  return (
    <DetailScreen
      name="sessions"
      title="Sessions"
      from={resource}
      missing={<Empty title="There is no such session, or it is not yours." />}
    >
      {(session) => <Detail session={session} path={path} />}
    </DetailScreen>
  );
}

function Detail({ session, path }: { session: SessionDetail; path: string }) {
  return (
    <>
      <PageHead
        title={<Words text={session.session_id} />}
        lead={<Status value={session.state} />}
      />
      <Facts
        rows={[
          ['Owner', session.principal],
          ['Created', <Time at={session.created_at} style="full" />],
          ['By', session.created_by],
          ['Writes need', session.mode === 'lock' ? 'a lock' : 'the current version'],
          ['Version', session.version],
          ['Lives', duration(session.ttl_ms)],
          [
            'Forked from',
            session.parent && (
              <a href={toHref(['sessions', session.parent.session_id])}>
                {session.parent.session_id}
              </a>
            ),
          ],
        ]}
      />
      <div class="columns">
        <Card title={plural(session.member_list.length, 'member')}>
          <PlainTable
            label="Members"
            rows={session.member_list}
            rowKey={({ agent_id }) => agent_id}
            columns={[
              { title: 'Agent', cell: 'agent_id' },
              {
                title: 'Presence',
                cell: ({ connected }) => <Status value={connected ? 'connected' : 'away'} />,
              },
              { title: 'Role', cell: 'role' },
              { title: 'Epoch', cell: 'epoch', align: 'end' },
              { title: 'Seen', cell: ({ last_seen }) => last_seen && <Time at={last_seen} /> },
            ]}
          />
        </Card>
        <Card title={plural(session.lock_list.length, 'lock')}>
          {session.lock_list.length === 0 ? (
            <p class="muted">No lock is held.</p>
          ) : (
            <PlainTable
              label="Locks"
              rows={session.lock_list}
              rowKey={({ resource, holder }) => `${resource} ${holder}`}
              columns={[
                { title: 'Resource', cell: 'resource' },
                { title: 'Holder', cell: 'holder' },
                { title: 'Fencing token', cell: 'fencing_token', align: 'end' },
                {
                  title: 'Expires',
                  cell: ({ expires_at }) => expires_at && <Expiry at={expires_at} />,
                },
                { title: 'Waiting', cell: ({ waiting }) => waiting.join(', ') },
              ]}
            />
          )}
        </Card>
      </div>
      <Card title="Context" actions={<span class="muted small">version {session.version}</span>}>
        <Json value={session.context} label="Context" />
      </Card>
      <History path={path} version={session.version} />
    </>
  );
}

function Expiry({ at }: { at: string }) {
  const left = toMs(at) - now.value;
  return <span>{left > 0 ? `in ${duration(left, true)}` : 'now'}</span>;
}

function History({ path, version }: { path: string; version: number }) {
  const before = useSignal<number | undefined>(undefined);
  const history = useResource<ContextHistory>(`${path}/history`, {
    limit: 50,
    before: before.value,
    version: before.value === undefined ? version : undefined,
  });
  return (
    <Card title="History of the context">
      <Loaded from={history}>
        {(data) =>
          data.entries.length === 0 ? (
            <p class="muted">Nothing was written yet.</p>
          ) : (
            <>
              <PlainTable
                label="History of the context"
                rows={data.entries}
                rowKey={({ version: at }) => String(at)}
                columns={[
                  { title: 'Version', cell: 'version', align: 'end' },
                  {
                    title: 'Time',
                    cell: ({ at }) => at && <Time at={at} style="full" />,
                    from: 'small',
                  },
                  { title: 'By', cell: 'agent_id' },
                  { title: 'Did', cell: 'operation' },
                  {
                    title: 'What',
                    cell: ({ paths, value }) => (
                      <code>
                        <Words
                          text={`${paths.join(', ')} ${value === undefined ? '' : JSON.stringify(value)}`}
                          limit={160}
                        />
                      </code>
                    ),
                  },
                ]}
              />
              <div class="buttons">
                {before.value !== undefined && (
                  <button type="button" class="link" onClick={() => (before.value = undefined)}>
                    Newest
                  </button>
                )}
                {data.next_before !== undefined && (
                  <button
                    type="button"
                    class="link"
                    onClick={() => (before.value = data.next_before)}
                  >
                    Older
                  </button>
                )}
              </div>
            </>
          )
        }
      </Loaded>
    </Card>
  );
}
