import { useSignal } from '@preact/signals';
import type { AuditPage, AuditRecord, AuditReport } from '../api-types.ts';
import { useAction } from '../state/action.ts';
import { act } from '../state/api.ts';
import { plural } from '../state/format.ts';
import { useOlder, useResource } from '../state/resource.ts';
import { route, toHref } from '../state/router.ts';
import { TableCard } from '../ui/data-table.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { FilterChoice, TypedFilter, titlesOf } from '../ui/fields.tsx';
import { Badge, Button, Card, Empty, Json, Problem, Time } from '../ui/parts.tsx';
import { OlderButton, Page } from '../ui/screen.tsx';
import { Words } from '../ui/words.tsx';

const TYPES = ['call', 'denied', 'mint', 'pin', 'policy', 'seal', 'open', 'close', 'lost'];

export function Audit() {
  const { query } = route.value;
  const asked = { type: query.get('type') ?? '', q: query.get('q') ?? '', limit: 100 };
  const opened = useSignal<AuditRecord | undefined>(undefined);
  const report = useSignal<AuditReport | undefined>(undefined);
  const verifying = useAction();
  const page = useResource<AuditPage>('audit', asked);
  const older = useOlder(page, 'audit', asked);
  const verify = async () => {
    report.value = await act<AuditReport>('GET', 'audit/verify');
  };
  return (
    <Page
      title="Audit"
      lead="A chained, signed log: what was done, for whom, and what was refused."
      actions={
        <Button kind="main" action={verifying} does={verify}>
          Verify the chain
        </Button>
      }
      tools={
        <>
          <Problem error={verifying.error} />
          <div role="status">{report.value && <Report report={report.value} />}</div>
          <search class="filters">
            <TypedFilter name="q" label="Search the log" />
            <FilterChoice name="type" label="Type" any="Any type" options={titlesOf(TYPES)} />
          </search>
          {opened.value && (
            <Dialog title="Record" onClose={() => (opened.value = undefined)}>
              <Json value={opened.value.record} label="Record" />
            </Dialog>
          )}
        </>
      }
      from={page}
    >
      {(data) => {
        const rows = [data, ...older.pages].flatMap(({ records }) => records);
        if (rows.length === 0) return <Empty title="No record matches." />;
        return (
          <TableCard
            title="Records"
            rows={rows}
            rowKey={({ file, seq, type, summary }) => `${file} ${seq} ${type} ${summary}`}
            columns={[
              { title: 'Time', cell: ({ at }) => at && <Time at={at} style="full" /> },
              { title: 'Type', cell: ({ type }) => <TypeBadge type={type} /> },
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
          >
            <OlderButton older={older} />
          </TableCard>
        );
      }}
    </Page>
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
        {plural(report.records, 'record')} in {plural(report.files, 'file')}
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
