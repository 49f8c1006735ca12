// What the recursion guard reads off the calls in flight that another call may belong to.

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
