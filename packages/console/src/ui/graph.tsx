import dagre from '@dagrejs/dagre';
import { useMemo } from 'preact/hooks';
import type { Topology } from '../api-types.ts';
import { count, percent, plural } from '../state/format.ts';
import { toHref } from '../state/router.ts';
import { oneLine } from './plain-text.ts';

const WIDTH = 168;
const HEIGHT = 46;
const MAX_NODES = 200;

/** Callers on the left, agents to the right of those that call them; red where calls fail. */
export function Graph({ topology }: { topology: Topology }) {
  const shape = topology.edges.map(({ from, to }) => `${from}>${to}`).join();
  // The layout depends on who is connected, not on figures: nothing moves while they change.
  const layout = useMemo(() => layOut(topology), [shape]);
  const loops = new Set(
    topology.loops.flatMap((loop) => loop.map((from, index) => `${from}>${loop[index + 1] ?? ''}`)),
  );
  const nodes = new Map(topology.nodes.map((node) => [node.id, node]));
  const edges = new Map(topology.edges.map((edge) => [`${edge.from}>${edge.to}`, edge]));
  return (
    <section class="graph" tabIndex={0} aria-label="Graph of calls; the table has the same figures">
      {/* biome-ignore lint/a11y/noSvgWithoutTitle: the region around it is named */}
      <svg
        width={layout.width}
        height={layout.height}
        viewBox={`0 0 ${layout.width} ${layout.height}`}
      >
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="11"
            markerHeight="11"
            orient="auto"
            markerUnits="userSpaceOnUse"
          >
            <path d="M0 0l8 4-8 4z" class="arrow" />
          </marker>
        </defs>
        {layout.edges.map(({ key, points, label }) => {
          const edge = edges.get(key);
          if (edge === undefined) return null;
          const tone = loops.has(key) ? 'loop' : edge.errors > 0 ? 'bad' : '';
          return (
            <g key={key}>
              <path
                class={`edge ${tone}`}
                d={pathOf(points)}
                stroke-width={Math.min(5, 1 + Math.log10(1 + edge.calls))}
                marker-end="url(#arrow)"
              />
              <text class="sub" x={label.x} y={label.y - 5} text-anchor="middle">
                {count(edge.calls)}
                {edge.errors > 0 && `, ${percent(edge.errors, edge.calls)} failed`}
              </text>
            </g>
          );
        })}
        {layout.nodes.map(({ id, x, y }) => {
          const node = nodes.get(id);
          if (node === undefined) return null;
          const body = (
            <g
              class={`node ${node.kind} ${node.health ?? ''}`}
              transform={`translate(${x - WIDTH / 2} ${y - HEIGHT / 2})`}
            >
              <rect width={WIDTH} height={HEIGHT} rx="9" />
              <text x="12" y="20">
                {oneLine(node.name, 20)}
              </text>
              <text x="12" y="36" class="sub">
                {node.kind === 'agent' ? (node.health ?? 'agent') : 'caller'} ·{' '}
                {plural(node.calls, 'call')}
              </text>
            </g>
          );
          return node.kind === 'agent' ? (
            <a key={id} href={toHref(['agents', node.name])}>
              {body}
            </a>
          ) : (
            <g key={id}>{body}</g>
          );
        })}
      </svg>
    </section>
  );
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Without agents that took part in no call: they would stand between those that did. */
function layOut({ nodes, edges }: Topology) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 26, ranksep: 130, marginx: 20, marginy: 20 });
  graph.setDefaultEdgeLabel(() => ({}));
  const busy = new Set(edges.flatMap(({ from, to }) => [from, to]));
  const shown = nodes.filter(({ id }) => busy.has(id)).slice(0, MAX_NODES);
  for (const { id } of shown) graph.setNode(id, { width: WIDTH, height: HEIGHT });
  const known = new Set(shown.map(({ id }) => id));
  const drawn = edges.filter(({ from, to }) => known.has(from) && known.has(to));
  for (const { from, to } of drawn) graph.setEdge(from, to);
  dagre.layout(graph);
  const { width = 400, height = 200 } = graph.graph();
  return {
    width: Math.ceil(width),
    height: Math.ceil(height),
    nodes: shown.map(({ id }) => ({ id, ...(graph.node(id) as unknown as Point) })),
    edges: drawn.map(({ from, to }) => {
      const points = (graph.edge(from, to).points ?? []) as readonly Point[];
      const label = points[Math.floor(points.length / 2)] ?? { x: 0, y: 0 };
      return { key: `${from}>${to}`, points, label };
    }),
  };
}

/** A smooth line: through the middle of each two points, bent towards the points. */
function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points;
  const last = rest.pop();
  if (first === undefined || last === undefined) return '';
  const at = ({ x, y }: Point) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const bends = rest.map((point, index) => {
    const next = rest[index + 1] ?? last;
    const end =
      index === rest.length - 1 ? last : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    return `Q${at(point)} ${at(end)}`;
  });
  return `M${at(first)}${bends.length === 0 ? `L${at(last)}` : bends.join('')}`;
}
