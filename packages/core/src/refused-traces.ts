import type { Clock } from './clock.ts';

const FORGET_MS = 10 * 60_000;
/** Of one principal; those of others are not pushed out by them. */
const MAX_TRACES = 10_000;

/** Traces that were refused once: they stay refused for a while. */
export class RefusedTraces {
  /** By root principal: when each may be forgotten, oldest first. */
  readonly byRoot = new Map<string, Map<string, number>>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(traceId: string, root: string): boolean {
    const traces = this.byRoot.get(root);
    const until = traces?.get(traceId);
    if (until === undefined) return false;
    if (until > this.#clock.monotonic()) return true;
    traces?.delete(traceId);
    if (traces?.size === 0) this.byRoot.delete(root);
    return false;
  }

  add(traceId: string, root: string): void {
    const traces = this.byRoot.get(root) ?? new Map<string, number>();
    this.byRoot.set(root, traces);
    const oldest = traces.keys().next();
    if (traces.size >= MAX_TRACES && !oldest.done) traces.delete(oldest.value);
    traces.set(traceId, this.#clock.monotonic() + FORGET_MS);
  }
}
