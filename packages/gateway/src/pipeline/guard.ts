// The recursion guard. The depth that counts is the largest of what the call carries and what this
// process knows of calls in flight on the same trace, so a caller that drops the headers is still
// caught. A trace that was refused once stays refused.

import {
  assertDepth,
  type Clock,
  createTrace,
  FabricError,
  findCycle,
  type Hop,
  type Origin,
  type Trace,
  toLink,
  toW3cSpanId,
} from '@starloom/core';

export interface GuardedCall {
  readonly trace: Trace;
  readonly hop: Hop;
}

export interface CallGuardOptions {
  readonly limit: number;
  readonly clock: Clock;
  readonly onBlocked?: (reason: 'depth' | 'cycle' | 'tripped') => void;
}

const TRIPPED_MS = 10 * 60_000;
const TRIPPED_MAX = 10_000;

export class CallGuard {
  readonly #options: CallGuardOptions;
  /** Attempts in flight: trace id → W3C span id → the hop the agent was given. */
  readonly #inFlight = new Map<string, Map<string, Hop>>();
  /** Refused traces and when they may be forgotten, oldest first. */
  readonly #tripped = new Map<string, number>();

  constructor(options: CallGuardOptions) {
    this.#options = options;
  }

  /** Gives an incoming call its place in its trace, or refuses it with RECURSION_LIMIT. */
  admit(origin: Origin): GuardedCall {
    const { traceId, parentSpanId } = origin;
    const trace = { ...createTrace(traceId), parent_span_id: parentSpanId ?? null };
    if (traceId === undefined) return { trace, hop: origin.hop };
    if (this.#isTripped(traceId)) {
      this.#options.onBlocked?.('tripped');
      throw new FabricError('RECURSION_LIMIT', 'This trace was refused before and stays refused', {
        details: { reason: 'tripped', trace_id: traceId, chain: origin.hop.chain },
      });
    }
    const hop = this.#knownHop(origin);
    this.#refuseAs('depth', traceId, () => assertDepth(hop, this.#options.limit));
    return { trace, hop };
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

  /** Remembers an attempt while it is in flight; returns how to forget it. */
  track(trace: Trace, hop: Hop): () => void {
    const spanId = toW3cSpanId(trace.span_id);
    const attempts = this.#inFlight.get(trace.trace_id) ?? new Map<string, Hop>();
    this.#inFlight.set(trace.trace_id, attempts.set(spanId, hop));
    return () => {
      attempts.delete(spanId);
      if (attempts.size === 0 && this.#inFlight.get(trace.trace_id) === attempts) {
        this.#inFlight.delete(trace.trace_id);
      }
    };
  }

  /**
   * A call whose parent span is an attempt of ours is one deeper than that attempt, whatever it
   * claims. One that names a trace in flight here and claims to be a root is taken as one deeper
   * than the deepest attempt: it dropped its headers.
   */
  #knownHop({ traceId = '', parentSpanId, named, hop }: Origin): Hop {
    const attempts = this.#inFlight.get(traceId);
    if (!attempts) return hop;
    const parent = parentSpanId && attempts.get(toW3cSpanId(parentSpanId));
    if (parent) {
      const chain = hop.chain.length >= parent.chain.length ? hop.chain : parent.chain;
      return { depth: Math.max(hop.depth, parent.depth + 1), chain };
    }
    if (!named || hop.depth > 1) return hop;
    const deepest = Math.max(...Array.from(attempts.values(), ({ depth }) => depth));
    return { depth: Math.max(hop.depth, deepest + 1), chain: hop.chain };
  }

  #refuseAs<T>(reason: 'depth' | 'cycle', traceId: string, check: () => T): T {
    try {
      return check();
    } catch (error) {
      this.#options.onBlocked?.(reason);
      this.#trip(traceId);
      throw error;
    }
  }

  #trip(traceId: string): void {
    const oldest = this.#tripped.keys().next();
    if (this.#tripped.size >= TRIPPED_MAX && !oldest.done) this.#tripped.delete(oldest.value);
    this.#tripped.set(traceId, this.#options.clock.monotonic() + TRIPPED_MS);
  }

  #isTripped(traceId: string): boolean {
    const until = this.#tripped.get(traceId);
    if (until === undefined) return false;
    if (until > this.#options.clock.monotonic()) return true;
    this.#tripped.delete(traceId);
    return false;
  }
}
