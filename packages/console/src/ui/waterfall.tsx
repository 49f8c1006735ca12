import type { Span } from '../api-types.ts';
import { duration } from '../state/format.ts';
import { Words } from './words.tsx';

/** Every step of a trace against the same clock; calls of further hops are nested below their caller. */
export function Waterfall({ spans, total }: { spans: readonly Span[]; total: number }) {
  const whole = Math.max(total, 1, ...spans.map((span) => span.start_ms + (span.duration_ms ?? 0)));
  const parents = new Map(spans.map(({ id, parent }) => [id, parent]));
  return (
    <div>
      <p class="ruler" aria-hidden="true">
        <span>0</span>
        <span>{duration(whole / 2)}</span>
        <span>{duration(whole)}</span>
      </p>
      <ul class="waterfall" aria-label="Steps of the call">
        {spans.map((span) => {
          const length = span.duration_ms ?? Math.max(0, whole - span.start_ms);
          const left = Math.min(99.5, (span.start_ms / whole) * 100);
          const width = Math.min(100 - left, (length / whole) * 100);
          return (
            <li key={span.id} class="span-row">
              <span
                class="span-name"
                style={{ paddingLeft: `${depthOf(span.id, parents) * 14}px` }}
              >
                {span.kind === 'call' ? (
                  <strong>
                    <Words text={span.name} />
                  </strong>
                ) : (
                  <Words text={span.name} />
                )}{' '}
                {span.kind === 'attempt' && <span class="muted">attempt</span>}
              </span>
              <span class="track" aria-hidden="true">
                <i
                  class={`${span.kind === 'call' ? '' : 'step'} ${span.status}`}
                  style={{ left: `${left}%`, width: `${width}%` }}
                />
              </span>
              <span class="span-time">
                {duration(span.duration_ms) || '…'}
                <span class="visually-hidden">
                  , begins at {duration(span.start_ms)}, {span.status}
                </span>
              </span>
              {span.message && (
                <span class={`span-note ${span.status}`}>
                  <Words text={span.message} limit={400} />
                </span>
              )}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

const MAX_DEPTH = 64;

function depthOf(id: string, parents: ReadonlyMap<string, string | undefined>): number {
  const parent = parents.get(id);
  let depth = 0;
  for (let at = parent; at !== undefined && parents.has(at) && depth < MAX_DEPTH; depth += 1) {
    at = parents.get(at);
  }
  return depth;
}
