import { USAGE_GROUPS, type Usage, type UsageRow } from '../api-types.ts';
import { bytes, count, dayAndTime, duration, percent } from '../state/format.ts';
import { useResource } from '../state/resource.ts';
import { replaceQuery, route } from '../state/router.ts';
import { PlainTable } from '../ui/data-table.tsx';
import { Card, Empty, Loaded, OwnOnly, PageHead } from '../ui/parts.tsx';
import { chosen, Tabs } from '../ui/tabs.tsx';

const SPANS: Readonly<Record<string, number>> = { '1 day': 1, '7 days': 7, '30 days': 30 };
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

export function UsageScreen() {
  const { query } = route.value;
  const by = chosen('by', USAGE_GROUPS);
  const span = query.get('span') ?? '7 days';
  const days = SPANS[span] ?? 7;
  // To the hour, so that the address of the request stays the same while the page is open.
  const since = new Date(
    Math.floor((Date.now() - days * DAY_MS) / HOUR_MS) * HOUR_MS,
  ).toISOString();
  const usage = useResource<Usage>('usage', { by, since });
  return (
    <div class="screen">
      <PageHead title="Usage" lead="Calls, time, bytes and cost, by whom and for what.">
        <select
          aria-label="Time"
          data-filter=""
          value={span}
          onChange={(event) => replaceQuery({ span: event.currentTarget.value })}
        >
          {Object.keys(SPANS).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </PageHead>
      <Tabs
        label="Group by"
        parameter="by"
        titles={{
          agent: 'By agent',
          principal: 'By caller',
          capability: 'By capability',
          day: 'By day',
        }}
        current={by}
      />
      <Loaded from={usage}>
        {(data) => (
          <>
            {data.scope === 'own' && <OwnOnly what="usage" />}
            {data.rows.length === 0 ? (
              <Empty title="Nothing was called in this time." />
            ) : (
              <Card title={`Since ${dayAndTime(data.since)}`}>
                <PlainTable<UsageRow>
                  label="Usage"
                  rows={[...data.rows, { ...data.total, key: 'Total' }]}
                  rowKey={({ key }) => key}
                  columns={[
                    { title: 'Name', cell: ({ key }) => key },
                    { title: 'Calls', cell: ({ calls }) => count(calls), align: 'end' },
                    {
                      title: 'Share',
                      cell: ({ calls }) => <Share part={calls / Math.max(1, data.total.calls)} />,
                      from: 'medium',
                    },
                    {
                      title: 'Errors',
                      cell: ({ calls, errors }) => percent(calls === 0 ? 0 : errors / calls),
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
                    {
                      title: 'Cost',
                      align: 'end',
                      cell: ({ cost }) => (cost === 0 ? '' : cost),
                    },
                  ]}
                />
              </Card>
            )}
          </>
        )}
      </Loaded>
    </div>
  );
}

function Share({ part }: { part: number }) {
  return <meter min={0} max={1} value={part} aria-label={`Share of calls: ${percent(part)}`} />;
}
