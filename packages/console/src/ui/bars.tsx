import type { SeriesPoint } from '../api-types.ts';
import { timeOfDay } from '../state/format.ts';

const HEIGHT = 64;

/** Calls over time, the failed part of each step below in red; figures are in the chart's table. */
export function Bars({ points, stepMs }: { points: readonly SeriesPoint[]; stepMs: number }) {
  const most = Math.max(1, ...points.map(({ calls }) => calls));
  const total = points.reduce((sum, { calls }) => sum + calls, 0);
  const failed = points.reduce((sum, { errors }) => sum + errors, 0);
  const first = points[0];
  return (
    <figure class="bars">
      <svg
        viewBox={`0 0 ${Math.max(1, points.length)} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${total} calls over time, ${failed} of them failed; at most ${most} in ${Math.round(stepMs / 1000)} seconds`}
      >
        {points.map(({ at, calls, errors }, index) => {
          const all = (calls / most) * HEIGHT;
          const bad = (errors / most) * HEIGHT;
          return (
            <g key={at}>
              <rect x={index + 0.1} width={0.8} y={HEIGHT - all} height={all} class="bar" />
              <rect x={index + 0.1} width={0.8} y={HEIGHT - bad} height={bad} class="bar bad" />
            </g>
          );
        })}
      </svg>
      <figcaption class="muted small">
        <span>{first === undefined ? '' : timeOfDay(first.at)}</span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}
