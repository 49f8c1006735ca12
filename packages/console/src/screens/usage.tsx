import { USAGE_GROUPS, type Usage, type UsageRow } from '../api-types.ts';
import { bytes, count, dayAndTime, duration, percent } from '../state/format.ts';
import { useResource } from '../state/resource.ts';
import { route } from '../state/router.ts';
import { TableCard } from '../ui/data-table.tsx';
import { FilterChoice } from '../ui/fields.tsx';
import { Empty } from '../ui/parts.tsx';
import { Page } from '../ui/screen.tsx';
import { chosen, Tabs } from '../ui/tabs.tsx';

/** By the number of days. */
const SPANS: Readonly<Record<string, string>> = { '1': '1 day', '7': '7 days', '30': '30 days' };
const FIRST = '7';
const TITLES = {
  agent: 'By agent',
  principal: 'By caller',
  capability: 'By capability',
  day: 'By day',
};
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

export function UsageScreen() {
  const by = chosen('by', USAGE_GROUPS);
  const span = route.value.query.get('span') ?? FIRST;
  const days = Number(span in SPANS ? span : FIRST);
  // To the hour, so that the address of the request stays the same while the page is open.
  const since = new Date(
    Math.floor((Date.now() - days * DAY_MS) / HOUR_MS) * HOUR_MS,
  ).toISOString();
  const usage = useResource<Usage>('usage', { by, since });
  return (
    <Page
      title="Usage"
      lead="Calls, time, bytes and cost, by whom and for what."
      actions={<FilterChoice name="span" label="Time" initial={FIRST} options={SPANS} />}
      tools={<Tabs label="Group by" parameter="by" titles={TITLES} current={by} />}
      from={usage}
      own="usage"
    >
      {(data) =>
        data.rows.length === 0 ? (
          <Empty title="Nothing was called in this time." />
        ) : (
          <TableCard<UsageRow>
            title={`Since ${dayAndTime(data.since)}`}
            label="Usage"
            rows={[...data.rows, { ...data.total, key: 'Total' }]}
            rowKey={({ key }) => key}
            columns={[
              { title: 'Name', cell: 'key' },
              { title: 'Calls', cell: ({ calls }) => count(calls), align: 'end' },
              {
                title: 'Share',
                cell: ({ calls }) => <Share part={calls / Math.max(1, data.total.calls)} />,
                from: 'medium',
              },
              {
                title: 'Errors',
                cell: ({ calls, errors }) => percent(errors, calls),
                align: 'end',
              },
              {
                title: 'Time',
                cell: ({ total_ms }) => duration(total_ms),
                align: 'end',
                from: 'medium',
              },
              {
                title: 'In',
                cell: ({ request_bytes }) => bytes(request_bytes),
                align: 'end',
                from: 'medium',
              },
              {
                title: 'Out',
                cell: ({ response_bytes }) => bytes(response_bytes),
                align: 'end',
                from: 'medium',
              },
              { title: 'Cost', align: 'end', cell: ({ cost }) => cost || '' },
            ]}
          />
        )
      }
    </Page>
  );
}

function Share({ part }: { part: number }) {
  return <meter min={0} max={1} value={part} aria-label={`Share of calls: ${percent(part)}`} />;
}
