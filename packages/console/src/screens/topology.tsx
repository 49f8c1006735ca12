import { type Topology, WINDOWS } from '../api-types.ts';
import { duration, percent } from '../state/format.ts';
import { useResource } from '../state/resource.ts';
import { toHref } from '../state/router.ts';
import { TableCard } from '../ui/data-table.tsx';
import { Lazy } from '../ui/lazy.tsx';
import { Badge, Empty } from '../ui/parts.tsx';
import { Page } from '../ui/screen.tsx';
import { chosen, Tabs } from '../ui/tabs.tsx';
import { Words } from '../ui/words.tsx';
import { WindowPicker } from './overview.tsx';

const VIEWS = ['graph', 'table'] as const;
const TITLES = { graph: 'Graph', table: 'Table' };
const loadGraph = async () => (await import('../ui/graph.tsx')).Graph;

/** Who calls whom: as a picture, and as the same figures in a table. */
export function TopologyScreen() {
  const window = chosen('window', ['1h', ...WINDOWS]);
  const view = chosen('view', VIEWS);
  const topology = useResource<Topology>('topology', { window }, ({ type }) => type === 'call');
  return (
    <Page
      title="Topology"
      lead="Who calls whom, how often, and what fails."
      actions={<WindowPicker current={window} />}
      from={topology}
      own="calls"
    >
      {(data) => (
        <>
          {data.loops.map((loop) => (
            <p class="note" key={loop.join()}>
              <Badge tone="warn">loop</Badge> <Words text={loop.map(nameOf).join(' → ')} />
            </p>
          ))}
          {data.edges.length === 0 ? (
            <Empty title="No calls in this time.">
              <p>
                Choose a longer time, or <a href={toHref(['try'])}>make a call</a>.
              </p>
            </Empty>
          ) : (
            <>
              <Tabs label="View" parameter="view" current={view} titles={TITLES} />
              {view === 'graph' ? (
                <Lazy name="graph" load={loadGraph} with={{ topology: data }} />
              ) : (
                <Table topology={data} />
              )}
              <Idle topology={data} />
            </>
          )}
        </>
      )}
    </Page>
  );
}

function Idle({ topology: { nodes, edges } }: { topology: Topology }) {
  const busy = new Set(edges.flatMap(({ from, to }) => [from, to]));
  const idle = nodes.filter(({ id }) => !busy.has(id));
  if (idle.length === 0) return null;
  return (
    <p class="chips muted">
      Not called in this time:
      {idle.map(({ id, name }) => (
        <a key={id} href={toHref(['agents', name])}>
          <Words text={name} />
        </a>
      ))}
    </p>
  );
}

function nameOf(id: string): string {
  return id.replace(/^(agent|principal):/, '');
}

function Table({ topology }: { topology: Topology }) {
  return (
    <TableCard
      title="Calls between them"
      rows={topology.edges}
      rowKey={({ from, to }) => `${from} ${to}`}
      columns={[
        { title: 'From', cell: ({ from }) => nameOf(from) },
        { title: 'To', cell: ({ to }) => nameOf(to) },
        { title: 'Calls', cell: 'calls', align: 'end' },
        { title: 'Per minute', cell: ({ per_minute }) => per_minute.toFixed(1), align: 'end' },
        { title: 'Errors', cell: ({ calls, errors }) => percent(errors, calls), align: 'end' },
        { title: 'As fallback', cell: 'as_fallback', align: 'end' },
        { title: 'p95', cell: ({ p95_ms }) => duration(p95_ms), align: 'end' },
        { title: 'Capabilities', cell: ({ capabilities }) => capabilities.join(', ') },
      ]}
    />
  );
}
