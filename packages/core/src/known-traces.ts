// What the recursion guard knows of traces: calls in flight that another call may belong to, and refused
// traces.

import type { Clock } from './clock.ts';
import type { Hop } from './hop.ts';
import { lowerTier, type TrustTier } from './trust-tier.ts';

export interface CallInFlight {
  readonly traceId: string;
  readonly spanId: string;
  readonly root: string;
  readonly hop: Hop;
  /** By what the agent is known when it calls back. */
  readonly callers: readonly string[];
  readonly originTier: TrustTier | undefined;
}

export function deepestOf(calls: readonly CallInFlight[]): CallInFlight | undefined {
  return calls.reduce<CallInFlight | undefined>(
    (deepest, call) => (call.hop.depth > (deepest?.hop.depth ?? 0) ? call : deepest),
    undefined,
  );
}

export function isOneOf({ callers }: CallInFlight, others: readonly string[]): boolean {
  return callers.some((caller) => others.includes(caller));
}

/** The lowest tier of the caller and of the calls that it acts for. */
export function lowestOf(
  tier: TrustTier | undefined,
  calls: readonly CallInFlight[],
): TrustTier | undefined {
  return calls.reduce<TrustTier | undefined>(
    (lowest, { originTier }) =>
      lowest && originTier ? lowerTier(lowest, originTier) : (lowest ?? originTier),
    tier,
  );
}

/** One deeper than the call above, or as deep as it says itself. */
export function hopBelow(above: Hop, stated: Hop): Hop {
  const chain = stated.chain.length >= above.chain.length ? stated.chain : above.chain;
  return { depth: Math.max(stated.depth, above.depth + 1), chain };
}

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
