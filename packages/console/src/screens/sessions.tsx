import type {
  ContextHistory,
  SessionDetail,
  SessionList,
  SessionRow,
  StreamLine,
} from '../api-types.ts';
import { duration, now, plural, toMs } from '../state/format.ts';
import { useInterest } from '../state/live.ts';
import { useOlder, useResource } from '../state/resource.ts';
import { route, toHref } from '../state/router.ts';
import { type Column, TableCard } from '../ui/data-table.tsx';
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
import { DetailScreen, ListScreen, OlderButton } from '../ui/screen.tsx';
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

const PAGE = { limit: 50 };

function pathOf(id: string): string {
  return `sessions/${encodeURIComponent(id)}`;
}

function isChanged(line: StreamLine, id: string): boolean {
  return line.type === 'session' && (line.session_id === undefined || line.session_id === id);
}

function Session({ id }: { id: string }) {
  useInterest({ session: id });
  const resource = useResource<SessionDetail>(pathOf(id), {}, (line) => isChanged(line, id));
  return (
    <DetailScreen
      name="sessions"
      title="Sessions"
      from={resource}
      missing={<Empty title="There is no such session, or it is not yours." />}
    >
      {(session) => <Detail session={session} />}
    </DetailScreen>
  );
}

function Detail({ session }: { session: SessionDetail }) {
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
        <TableCard
          title={plural(session.member_list.length, 'member')}
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
        <TableCard
          title={plural(session.lock_list.length, 'lock')}
          label="Locks"
          empty="No lock is held."
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
      </div>
      <Card title="Context" actions={<span class="muted small">version {session.version}</span>}>
        <Json value={session.context} label="Context" />
      </Card>
      <History id={session.session_id} />
    </>
  );
}

function Expiry({ at }: { at: string }) {
  const left = toMs(at) - now.value;
  return <span>{left > 0 ? `in ${duration(left, true)}` : 'now'}</span>;
}

function History({ id }: { id: string }) {
  const path = `${pathOf(id)}/history`;
  const history = useResource<ContextHistory>(path, PAGE, (line) => isChanged(line, id));
  const older = useOlder(history, path, PAGE);
  return (
    <Loaded from={history}>
      {(data) => (
        <TableCard
          title="History of the context"
          empty="Nothing was written yet."
          rows={[data, ...older.pages].flatMap(({ entries }) => entries)}
          rowKey={({ version }) => String(version)}
          columns={[
            { title: 'Version', cell: 'version', align: 'end' },
            { title: 'Time', cell: ({ at }) => at && <Time at={at} style="full" />, from: 'small' },
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
        >
          <OlderButton older={older} />
        </TableCard>
      )}
    </Loaded>
  );
}
