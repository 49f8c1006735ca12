import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { SeriesPoint } from '../api-types.ts';
import { duration, timeOfDay } from '../state/format.ts';
import { theme } from '../state/theme.ts';
import { PlainTable } from './data-table.tsx';

const HEIGHT = 240;

/** Rate and latency over time, with the same figures as a table. */
export function Chart({ points }: { points: readonly SeriesPoint[] }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const made = new uPlot(optionsFor(element), dataOf(points), element);
    plot.current = made;
    const observer = new ResizeObserver(() => {
      made.setSize({ width: element.clientWidth, height: HEIGHT });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [theme.value]);
  useEffect(() => plot.current?.setData(dataOf(points)), [points]);
  const busy = points.filter(({ calls }) => calls > 0).toReversed();
  return (
    <div class="chart">
      <div ref={place} aria-hidden="true" />
      <details>
        <summary>Figures as a table</summary>
        <PlainTable
          label="Calls over time"
          rows={busy}
          rowKey={({ at }) => at}
          columns={[
            { title: 'From', cell: ({ at }) => timeOfDay(at) },
            { title: 'Calls', cell: 'calls', align: 'end' },
            { title: 'Errors', cell: 'errors', align: 'end' },
            { title: 'p50', cell: ({ p50_ms }) => duration(p50_ms), align: 'end' },
            { title: 'p95', cell: ({ p95_ms }) => duration(p95_ms), align: 'end' },
            { title: 'p99', cell: ({ p99_ms }) => duration(p99_ms), align: 'end' },
          ]}
        />
      </details>
    </div>
  );
}

function dataOf(points: readonly SeriesPoint[]): uPlot.AlignedData {
  return [
    points.map(({ at }) => Date.parse(at) / 1000),
    points.map(({ calls }) => calls),
    points.map(({ errors }) => errors),
    points.map(({ p50_ms }) => p50_ms ?? null),
    points.map(({ p95_ms }) => p95_ms ?? null),
  ];
}

function optionsFor(element: HTMLElement): uPlot.Options {
  // A variable may hold `light-dark(…)`, which a canvas cannot draw with: read what it comes to.
  const colour = (name: string) => {
    element.style.color = `var(${name})`;
    return getComputedStyle(element).color;
  };
  const axis = {
    stroke: colour('--muted'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
  };
  const line = (label: string, stroke: string, scale: string) => ({
    label,
    scale,
    stroke: colour(stroke),
    width: 2,
    spanGaps: true,
    points: { show: false },
  });
  return {
    width: element.clientWidth,
    height: HEIGHT,
    scales: { x: { time: true }, calls: {}, ms: {} },
    axes: [
      {
        ...axis,
        values: (_, values) => values.map((value) => timeOfDay(value * 1000).slice(0, 5)),
      },
      { ...axis, scale: 'calls', size: 44 },
      {
        ...axis,
        scale: 'ms',
        side: 1,
        grid: { show: false },
        size: 64,
        values: (_, values) => values.map((value) => `${value} ms`),
      },
    ],
    series: [
      {},
      line('Calls', '--accent', 'calls'),
      line('Errors', '--bad', 'calls'),
      line('p50 ms', '--ok', 'ms'),
      line('p95 ms', '--warn', 'ms'),
    ],
  };
}
