import { useSignal } from '@preact/signals';
import type { AuditPage, AuditRecord, AuditReport } from '../api-types.ts';
import { request } from '../state/api.ts';
import { plural } from '../state/format.ts';
import { useResource } from '../state/resource.ts';
import { replaceQuery, route, toHref } from '../state/router.ts';
import { PlainTable } from '../ui/data-table.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Badge, Button, Card, Empty, Json, Loaded, PageHead, Problem, Time } from '../ui/parts.tsx';
import { Words } from '../ui/words.tsx';

const TYPES = ['call', 'denied', 'mint', 'pin', 'policy', 'seal', 'open', 'close', 'lost'];

export function Audit() {
  const { query } = route.value;
  const type = query.get('type') ?? '';
  const words = query.get('q') ?? '';
  const opened = useSignal<AuditRecord | undefined>(undefined);
  const older = useSignal<readonly AuditRecord[]>([]);
  const next = useSignal<string | undefined>(undefined);
  const report = useSignal<AuditReport | undefined>(undefined);
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const page = useResource<AuditPage>('audit', { type, q: words, limit: 100 });
  const narrow = (change: Record<string, string | undefined>) => {
    older.value = [];
    next.value = undefined;
    replaceQuery(change);
  };
  const verify = async () => {
    isBusy.value = true;
    error.value = undefined;
    try {
      const answer = await request<AuditReport>('GET', 'audit/verify');
      if (answer.running) report.value = answer;
    } catch (problem) {
      error.value = problem;
    } finally {
      isBusy.value = false;
    }
  };
  const more = async (cursor: string) => {
    const answer = await request<AuditPage>('GET', 'audit', {
      query: { type, q: words, limit: 100, cursor },
    });
    if (!answer.running) return;
    next.value = answer.next_cursor ?? '';
    older.value = [...older.value, ...answer.records];
  };
  return (
    <div class="screen">
      <PageHead
        title="Audit"
        lead="A chained, signed log: what was done, for whom, and what was refused."
      >
        <Button kind="main" busy={isBusy.value} onClick={() => void verify()}>
          Verify the chain
        </Button>
      </PageHead>
      {error.value !== undefined && <Problem error={error.value} />}
      <div role="status">{report.value && <Report report={report.value} />}</div>
      <search class="filters">
        <input
          type="search"
          aria-label="Search the log"
          placeholder="Search"
          data-filter=""
          value={words}
          onChange={(event) => narrow({ q: event.currentTarget.value || undefined })}
        />
        <select
          aria-label="Type"
          value={type}
          onChange={(event) => narrow({ type: event.currentTarget.value || undefined })}
        >
          <option value="">Any type</option>
          {TYPES.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </search>
      <Loaded from={page}>
        {(data) => {
          const rows = [...data.records, ...older.value];
          const cursor = older.value.length > 0 ? next.value : data.next_cursor;
          if (rows.length === 0) return <Empty title="No record matches." />;
          return (
            <Card title="Records">
              <PlainTable
                label="Records"
                rows={rows}
                rowKey={({ file, seq, type: what, summary }) => `${file} ${seq} ${what} ${summary}`}
                columns={[
                  { title: 'Time', cell: ({ at }) => at && <Time at={at} style="full" /> },
                  { title: 'Type', cell: ({ type: what }) => <TypeBadge type={what} /> },
                  {
                    title: 'What',
                    cell: (record) => (
                      <button type="button" class="link" onClick={() => (opened.value = record)}>
                        <Words text={record.summary} limit={160} />
                      </button>
                    ),
                  },
                  {
                    title: 'Trace',
                    from: 'medium',
                    cell: ({ trace_id }) =>
                      trace_id && <a href={toHref(['calls', trace_id])}>{trace_id.slice(0, 8)}</a>,
                  },
                  {
                    title: 'File',
                    cell: ({ file }) => <span class="muted small">{file}</span>,
                    from: 'large',
                  },
                ]}
              />
              {cursor && (
                <div class="buttons">
                  <Button onClick={() => void more(cursor)}>Older</Button>
                </div>
              )}
            </Card>
          );
        }}
      </Loaded>
      {opened.value && (
        <Dialog title="Record" onClose={() => (opened.value = undefined)}>
          <Json value={opened.value.record} label="Record" />
        </Dialog>
      )}
    </div>
  );
}

function TypeBadge({ type }: { type: AuditRecord['type'] }) {
  const tone = type === 'denied' || type === 'lost' ? 'bad' : type === 'call' ? 'info' : 'quiet';
  return <Badge tone={tone}>{type}</Badge>;
}

function Report({ report }: { report: AuditReport }) {
  return (
    <Card title={report.verified ? 'The chain is whole' : 'The chain is broken'}>
      <p>
        <Badge tone={report.verified ? 'ok' : 'bad'}>
          {report.verified ? 'verified' : 'not verified'}
        </Badge>{' '}
        {plural(report.records, 'record')} in {plural(report.files.length, 'file')}
      </p>
      <ul class="rows">
        {report.problems.map((problem) => (
          <li key={problem}>
            <Words text={problem} limit={400} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
