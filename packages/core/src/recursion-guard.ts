// The recursion guard of one process, gateway or agent. The depth that counts is the largest of what
// the call carries and what this process knows of calls in flight on the same trace, so a caller that
// drops the headers is still caught. A trace that was refused once stays refused. A trace belongs to
// the principal that began it: the same id named by another principal is another trace, unless that
// principal is an agent at work on it.

import { type Clock, systemClock } from './clock.ts';
import type { FabricError } from './errors.ts';
import { type Hop, MAX_DEPTH } from './hop.ts';
import {
  type CallInFlight,
  deepestOf,
  hopBelow,
  isOneOf,
  lowestOf,
  RefusedTraces,
} from './known-traces.ts';
import { findCycle, type Origin, toLink } from './propagation.ts';
import { failure } from './reasons.ts';
import { createTrace, type Trace, toW3cSpanId } from './trace.ts';
import type { TrustTier } from './trust-tier.ts';

export interface GuardedCall {
  readonly trace: Trace;
  readonly hop: Hop;
  /** The principal that began the trace, where there are several. */
  readonly root?: string | undefined;
  /** The lowest tier of those along the chain, as far as this process knows them. */
  readonly originTier?: TrustTier | undefined;
}

interface RecursionGuardOptions {
  /** The deepest call that is served; `MAX_DEPTH` by default. */
  readonly limit?: number;
  /**
   * How many calls of one trace may be in flight when no carrier counts their depth; no limit by
   * default.
   */
  readonly uncounted?: number;
  readonly clock?: Clock;
  readonly onBlocked?: (reason: BlockReason) => void;
}

export type BlockReason = 'depth' | 'cycle' | 'tripped' | 'uncounted';

interface AdmitOptions {
  /**
   * The carrier wrote a depth, and a call that comes back here passed a hop that adds one (an agent
   * does so itself). So a call that says it is a root is one, even beside others of its trace.
   */
  readonly depthIsStated?: boolean;
  /** Who calls; where there is only one caller, or none is known, it can be left out. */
  readonly principal?: string;
  /** The agent whose program the caller is, or was started by. */
  readonly agentId?: string | undefined;
  /** How far the caller is trusted. */
  readonly tier?: TrustTier;
}

interface TrackOptions extends Pick<GuardedCall, 'root' | 'originTier'> {
  /** The principal as which the agent that is called calls back. */
  readonly agentPrincipal?: string | undefined;
  /** The agent that is called, where this process started its program. */
  readonly agentId?: string | undefined;
}

interface CallerNames {
  readonly principal?: string | undefined;
  readonly agentId?: string | undefined;
}

const NO_NAMES: readonly string[] = [];

export class RecursionGuard {
  readonly #limit: number;
  readonly #uncounted: number;
  readonly #onBlocked: RecursionGuardOptions['onBlocked'];
  /** Calls in flight by trace; calls below one are one deeper. */
  readonly #inFlight = new Map<string, CallInFlight[]>();
  /** The same by what their agents are known by when they call back. */
  readonly #byAgent = new Map<string, Set<CallInFlight>>();
  /** Those of them whose agents were started by this process. */
  readonly #started = new Set<CallInFlight>();
  readonly #refused: RefusedTraces;

  constructor(options: RecursionGuardOptions = {}) {
    this.#limit = options.limit ?? MAX_DEPTH;
    this.#uncounted = options.uncounted ?? Number.POSITIVE_INFINITY;
    this.#refused = new RefusedTraces(options.clock ?? systemClock);
    this.#onBlocked = options.onBlocked;
  }

  /** Whether a call is in flight to an agent that this process started. */
  get servesStarted(): boolean {
    return this.#started.size > 0;
  }

  /** Gives an incoming call its place in its trace, or refuses it with RECURSION_LIMIT. */
  admit(origin: Origin, options: AdmitOptions = {}): GuardedCall {
    const { principal = '', agentId, tier } = options;
    const callers = this.#callersOf({ principal, agentId });
    const above = origin.traceId === undefined ? this.#deepestOf(callers) : undefined;
    const traceId = origin.traceId ?? above?.traceId;
    const trace = createTrace(traceId, origin.parentSpanId);
    const root = above?.root ?? this.#rootOf(traceId, principal, callers);
    if (traceId !== undefined) this.assertOpen(traceId, origin.hop, root);
    const hop = above ? hopBelow(above.hop, origin.hop) : this.#knownHop(origin, root, options);
    if (hop.depth > this.#limit) {
      const { depth, chain } = hop;
      const error = failure('depth/limit', { depth, limit: this.#limit, chain });
      this.#refuse('depth', trace.trace_id, root, error);
    }
    return { trace, hop, root, originTier: this.#lowestTier(origin, callers, tier) };
  }

  /**
   * The lowest tier of those along the chain that a caller acts in. An agent that names no trace may
   * act for any of the calls that it serves.
   */
  originTierOf(
    { traceId }: Origin,
    { principal = '', agentId, tier }: AdmitOptions,
  ): TrustTier | undefined {
    return this.#lowestTier({ traceId }, this.#callersOf({ principal, agentId }), tier);
  }

  /** Refuses what belongs to a trace that was refused before. */
  assertOpen(traceId: string, hop: Hop, root = ''): void {
    if (!this.#refused.byRoot.has(root) || !this.#refused.has(traceId, root)) return;
    this.#onBlocked?.('tripped');
    throw failure('tripped', { trace_id: traceId, chain: hop.chain });
  }

  /** The loop that serving this agent's capability would close, if any. */
  findCycle(hop: Hop, agentId: string, capability: string): string[] | undefined {
    return findCycle(hop.chain, toLink(agentId, capability));
  }

  /** Refuses the call, and its trace from now on. */
  refuseCycle({ trace, hop, root = '' }: GuardedCall, cycle: readonly string[]): never {
    const { chain, depth } = hop;
    const error = failure('cycle', { path: cycle.join(' → '), cycle, chain, depth });
    this.#refuse('cycle', trace.trace_id, root, error);
  }

  /** Remembers a call while it is in flight; returns how to forget it. */
  track(trace: Trace, hop: Hop, options: TrackOptions = {}): () => void {
    const { root = '', agentPrincipal, agentId, originTier } = options;
    const { trace_id: traceId, span_id: spanId } = trace;
    const callers = callersOf({ principal: agentPrincipal, agentId });
    const entry = { traceId, spanId, root, hop, callers, originTier };
    const calls = this.#inFlight.get(traceId) ?? [];
    if (calls.push(entry) === 1) this.#inFlight.set(traceId, calls);
    for (const caller of callers) {
      this.#byAgent.set(caller, (this.#byAgent.get(caller) ?? new Set()).add(entry));
    }
    if (agentId !== undefined) this.#started.add(entry);
    return () => this.#forget(entry, calls);
  }

  #forget(entry: CallInFlight, calls: CallInFlight[]): void {
    const at = calls.indexOf(entry);
    if (at === -1) return;
    calls.splice(at, 1);
    if (calls.length === 0) this.#inFlight.delete(entry.traceId);
    this.#started.delete(entry);
    for (const caller of entry.callers) {
      const served = this.#byAgent.get(caller);
      served?.delete(entry);
      if (served?.size === 0) this.#byAgent.delete(caller);
    }
  }

  /** The hops of the calls in flight on one trace. */
  inFlight(traceId: string): Hop[] {
    return (this.#inFlight.get(traceId) ?? []).map(({ hop }) => hop);
  }

  /** By what a caller is known; nothing while no agent in flight is known by anything. */
  #callersOf(names: CallerNames): readonly string[] {
    return this.#byAgent.size === 0 ? NO_NAMES : callersOf(names);
  }

  #lowestTier(
    { traceId }: Pick<Origin, 'traceId'>,
    callers: readonly string[],
    tier: TrustTier | undefined,
  ): TrustTier | undefined {
    if (callers.length === 0) return tier;
    const calls = traceId === undefined ? this.#servedBy(callers) : this.#callsOf(traceId, callers);
    return lowestOf(tier, calls);
  }

  /** The calls in flight to agents that this caller may be. */
  #servedBy(callers: readonly string[]): CallInFlight[] {
    return callers.flatMap((caller) => [...(this.#byAgent.get(caller) ?? [])]);
  }

  /** The deepest of them. */
  #deepestOf(callers: readonly string[]): CallInFlight | undefined {
    if (callers.length === 0) return undefined;
    return deepestOf(this.#servedBy(callers));
  }

  /** Those of them that are on this trace. */
  #callsOf(traceId: string, callers: readonly string[]): CallInFlight[] {
    return (this.#inFlight.get(traceId) ?? []).filter((call) => isOneOf(call, callers));
  }

  /** Whose trace this is: of the caller, unless the caller is an agent at work on another's. */
  #rootOf(traceId: string | undefined, principal: string, callers: readonly string[]): string {
    const calls = traceId === undefined ? undefined : this.#inFlight.get(traceId);
    if (!calls) return principal;
    if (calls.some(({ root }) => root === principal)) return principal;
    return calls.find((call) => isOneOf(call, callers))?.root ?? principal;
  }

  /**
   * A call whose parent span is in flight here is one deeper than that, whatever it claims. One that
   * names a trace in flight here and claims to be a root is taken as one deeper than the deepest: it
   * dropped its headers.
   */
  #knownHop(
    { traceId, parentSpanId, named, hop }: Origin,
    root: string,
    options: AdmitOptions,
  ): Hop {
    const calls = traceId === undefined ? undefined : this.#inFlight.get(traceId);
    if (traceId === undefined || !calls) return hop;
    const above = parentSpanId && toW3cSpanId(parentSpanId);
    const parent = calls.find(({ spanId }) => toW3cSpanId(spanId) === above);
    if (parent && parent.root === root) return hopBelow(parent.hop, hop);
    if (hop.depth > 1 || options.depthIsStated) return hop;
    const own = calls.filter((call) => call.root === root);
    if (own.length === 0) return hop;
    if (!named) {
      this.#assertFew(own.length, traceId);
      return hop;
    }
    const deepest = Math.max(...own.map((call) => call.hop.depth));
    return { depth: Math.max(hop.depth, deepest + 1), chain: hop.chain };
  }

  /** A caller that sends only a `traceparent` may be a sibling or a loop. The trace is not tripped. */
  #assertFew(count: number, traceId: string): void {
    if (count < this.#uncounted) return;
    this.#onBlocked?.('uncounted');
    throw failure('uncounted', { calls: count, trace_id: traceId, limit: this.#uncounted });
  }

  #refuse(reason: 'depth' | 'cycle', traceId: string, root: string, error: FabricError): never {
    this.#onBlocked?.(reason);
    this.#refused.add(traceId, root);
    throw error;
  }
}

/** An agent is known by the principal of its key, and by the program that was started for it. */
function callersOf({ principal, agentId }: CallerNames): readonly string[] {
  if (principal === undefined && agentId === undefined) return NO_NAMES;
  return [
    ...(principal === undefined ? [] : [`principal:${principal}`]),
    ...(agentId === undefined ? [] : [`agent:${agentId}`]),
  ];
}
