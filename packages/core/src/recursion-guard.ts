// The recursion guard of one process, gateway or agent. The depth that counts is the largest of what
// the call carries and what this process knows of calls in flight on the same trace, so a caller that
// drops the headers is still caught. A trace that was refused once stays refused.

import { type Clock, systemClock } from './clock.ts';
import { FabricError } from './errors.ts';
import { assertDepth, findCycle, type Hop, MAX_DEPTH, toLink } from './hop.ts';
import type { Origin } from './propagation.ts';
import { createTrace, type Trace, toW3cSpanId } from './trace.ts';

export interface GuardedCall {
  readonly trace: Trace;
  readonly hop: Hop;
}

export interface RecursionGuardOptions {
  /** The deepest call that is served; `MAX_DEPTH` by default. */
  readonly limit?: number;
  /** How many calls of one trace may be in flight when nobody counts their depth; no limit by default. */
  readonly uncounted?: number;
  readonly clock?: Clock;
  readonly onBlocked?: (reason: BlockReason) => void;
}

export type BlockReason = 'depth' | 'cycle' | 'tripped' | 'uncounted';

export interface AdmitOptions {
  /**
   * The carrier wrote a depth, and whoever comes back here passed somebody who adds one (an agent
   * does so itself): a call that says it is a root is one, even beside others of its trace.
   */
  readonly depthIsStated?: boolean;
}

const TRIPPED_MS = 10 * 60_000;
const TRIPPED_MAX = 10_000;

export class RecursionGuard {
  readonly #limit: number;
  readonly #uncounted: number;
  readonly #clock: Clock;
  readonly #onBlocked: RecursionGuardOptions['onBlocked'];
  /** Calls in flight: trace id → W3C span id → the hop that calls below are one deeper than. */
  readonly #inFlight = new Map<string, Map<string, Hop>>();
  /** Refused traces and when they may be forgotten, oldest first. */
  readonly #tripped = new Map<string, number>();

  constructor(options: RecursionGuardOptions = {}) {
    this.#limit = options.limit ?? MAX_DEPTH;
    this.#uncounted = options.uncounted ?? Number.POSITIVE_INFINITY;
    this.#clock = options.clock ?? systemClock;
    this.#onBlocked = options.onBlocked;
  }

  /** Gives an incoming call its place in its trace, or refuses it with RECURSION_LIMIT. */
  admit(origin: Origin, options: AdmitOptions = {}): GuardedCall {
    const { traceId, parentSpanId } = origin;
    const trace = { ...createTrace(traceId), parent_span_id: parentSpanId ?? null };
    this.assertOpen(trace.trace_id, origin.hop);
    const hop = this.#knownHop(origin, options);
    this.#refuseAs('depth', trace.trace_id, () => assertDepth(hop, this.#limit));
    return { trace, hop };
  }

  /** Refuses what belongs to a trace that was refused before. */
  assertOpen(traceId: string, hop: Hop): void {
    if (!this.#isTripped(traceId)) return;
    this.#onBlocked?.('tripped');
    throw new FabricError('RECURSION_LIMIT', 'This trace was refused before and stays refused', {
      details: { reason: 'tripped', trace_id: traceId, chain: hop.chain },
    });
  }

  /** The loop that serving this agent's capability would close, if any. */
  findCycle(hop: Hop, agentId: string, capability: string): string[] | undefined {
    return findCycle(hop.chain, toLink(agentId, capability));
  }

  /** Refuses the call, and its trace from now on. */
  refuseCycle({ trace, hop }: GuardedCall, cycle: readonly string[]): never {
    return this.#refuseAs('cycle', trace.trace_id, () => {
      throw new FabricError('RECURSION_LIMIT', `The call closes a cycle: ${cycle.join(' → ')}`, {
        details: { reason: 'cycle', cycle, chain: hop.chain, depth: hop.depth },
      });
    });
  }

  /** Remembers a call while it is in flight; returns how to forget it. */
  track(trace: Trace, hop: Hop): () => void {
    const spanId = toW3cSpanId(trace.span_id);
    const calls = this.#inFlight.get(trace.trace_id) ?? new Map<string, Hop>();
    this.#inFlight.set(trace.trace_id, calls.set(spanId, hop));
    return () => {
      calls.delete(spanId);
      if (calls.size === 0 && this.#inFlight.get(trace.trace_id) === calls) {
        this.#inFlight.delete(trace.trace_id);
      }
    };
  }

  /** The hops of the calls in flight on one trace. */
  inFlight(traceId: string): Hop[] {
    return [...(this.#inFlight.get(traceId)?.values() ?? [])];
  }

  /**
   * A call whose parent span is in flight here is one deeper than that, whatever it claims. One that
   * names a trace in flight here and claims to be a root is taken as one deeper than the deepest: it
   * dropped its headers.
   */
  #knownHop({ traceId = '', parentSpanId, named, hop }: Origin, options: AdmitOptions): Hop {
    const calls = this.#inFlight.get(traceId);
    if (!calls) return hop;
    const parent = parentSpanId && calls.get(toW3cSpanId(parentSpanId));
    if (parent) {
      const chain = hop.chain.length >= parent.chain.length ? hop.chain : parent.chain;
      return { depth: Math.max(hop.depth, parent.depth + 1), chain };
    }
    if (hop.depth > 1 || options.depthIsStated) return hop;
    if (!named) {
      this.#assertFew(calls.size, traceId);
      return hop;
    }
    const deepest = Math.max(...Array.from(calls.values(), ({ depth }) => depth));
    return { depth: Math.max(hop.depth, deepest + 1), chain: hop.chain };
  }

  /** Siblings or a loop: who keeps only a `traceparent` does not tell. The trace is not tripped. */
  #assertFew(count: number, traceId: string): void {
    if (count < this.#uncounted) return;
    this.#onBlocked?.('uncounted');
    throw new FabricError('RECURSION_LIMIT', `${count} calls of this trace are in flight here`, {
      details: {
        reason: 'uncounted',
        trace_id: traceId,
        limit: this.#uncounted,
        fix: 'pass X-OpenStarry-Trace-ID and X-OpenStarry-Depth on with every call',
      },
    });
  }

  #refuseAs<T>(reason: 'depth' | 'cycle', traceId: string, check: () => T): T {
    try {
      return check();
    } catch (error) {
      this.#onBlocked?.(reason);
      this.#trip(traceId);
      throw error;
    }
  }

  #trip(traceId: string): void {
    const oldest = this.#tripped.keys().next();
    if (this.#tripped.size >= TRIPPED_MAX && !oldest.done) this.#tripped.delete(oldest.value);
    this.#tripped.set(traceId, this.#clock.monotonic() + TRIPPED_MS);
  }

  #isTripped(traceId: string): boolean {
    const until = this.#tripped.get(traceId);
    if (until === undefined) return false;
    if (until > this.#clock.monotonic()) return true;
    this.#tripped.delete(traceId);
    return false;
  }
}
