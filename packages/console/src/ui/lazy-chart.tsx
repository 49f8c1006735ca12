import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SeriesPoint } from '../api-types.ts';
import { Loading, Problem } from './parts.tsx';

type Chart = ComponentType<{ points: readonly SeriesPoint[] }>;

/** The chart and its library are loaded when a chart is opened. */
export function LazyChart({ points }: { points: readonly SeriesPoint[] }) {
  const [Chart, setChart] = useState<Chart>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    import('./chart.tsx').then(
      ({ Chart }) => setChart(() => Chart),
      (problem) => setError(problem),
    );
  }, []);
  if (error !== undefined) return <Problem error={error} />;
  return Chart === undefined ? <Loading /> : <Chart points={points} />;
}
