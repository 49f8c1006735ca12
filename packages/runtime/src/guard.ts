// The recursion guard of an agent: every incoming call of every protocol passes `admit` before
// anything of it runs, every outgoing one carries `outgoingCall`. Depth, cycles and refused traces are
// those of core's guard; here is what an agent adds: its own link on the chain, and one hop more.

import {
  type Clock,
  extendChain,
  type FabricError,
  findCycle,
  fromHeaders,
  fromMeta,
  type GuardedCall,
  type Hop,
  mergeOrigins,
  nextHop,
  type Origin,
  RecursionGuard,
  type Trace,
  toAnswerTrace,
  toLink,
} from '@starloom/core';
import type { ToolContext } from '@starloom/sdk';

interface AgentGuardOptions {
  readonly name: string;
  readonly clock?: Clock;
  /** A call from outside was refused before anything of it ran. */
  readonly onRefused?: (trace: Trace, tool: string, error: FabricError) => void;
}

/** Calls at once of one trace that carry neither our trace id nor a depth. */
const UNCOUNTED = 32;

type Carrier = Readonly<Record<string, unknown>>;

/** Where a call may carry its trace, depth and chain. Header names are lower-case. */
export interface Carriers {
  /** What the mandate of the call says; it wins over the others. */
  readonly mandated?: Origin | undefined;
  readonly meta?: Carrier | undefined;
  readonly headers?: Carrier | undefined;
}

/** A call that may run. Its chain ends with this agent; dispose of it when it is answered. */
interface AdmittedCall extends GuardedCall, Disposable {}

export class AgentGuard {
  readonly agentId: string;
  readonly #guard: RecursionGuard;
  /** Every face calls it when it refuses a call; `trace` is that of the answer. */
  readonly onRefused: NonNullable<AgentGuardOptions['onRefused']>;

  constructor({ name, onRefused, ...options }: AgentGuardOptions) {
    this.agentId = toAgentId(name);
    this.onRefused = onRefused ?? (() => {});
    this.#guard = new RecursionGuard({ uncounted: UNCOUNTED, ...options });
  }

  /**
   * Gives an incoming call its place, or refuses it: RECURSION_LIMIT with the chain when it is too
   * deep, closes a cycle or belongs to a refused trace; BAD_INPUT when depth or chain are garbled.
   */
  admit(carriers: Carriers, tool: string): AdmittedCall {
    const origin = readOrigin(carriers);
    const { depthIsStated } = origin;
    const call = this.#guard.admit(origin, { depthIsStated });
    const capability = toCapability(tool);
    return this.#take(call, this.#chainAbove(call, toLink(this.agentId, capability)), capability);
  }

  /** A task that a helper of this agent takes: one hop deeper, and refused as a call of others would be. */
  descend({ trace, hop }: Pick<ToolContext, 'trace' | 'hop'>, helper: string): AdmittedCall {
    const call = this.assertMayCall({ trace, hop });
    return this.#take(call, call.hop.chain, toCapability(`helper:${helper}`));
  }

  #take(call: GuardedCall, chain: string[], capability: string): AdmittedCall {
    const cycle = findCycle(chain, toLink(this.agentId, capability));
    if (cycle) this.#guard.refuseCycle(call, cycle);
    const hop = extendChain({ ...call.hop, chain }, this.agentId, capability);
    const taken = { trace: call.trace, hop };
    return { ...this.enter(taken), ...taken };
  }

  /** The place of a call that goes out; RECURSION_LIMIT where it would be too deep. */
  assertMayCall({ trace, hop }: Pick<ToolContext, 'trace' | 'hop'>): GuardedCall {
    const { trace_id: traceId, span_id: parentSpanId } = trace;
    const below = nextHop({ depth: hop.depth, chain: [...hop.chain] });
    const origin = { traceId, named: true, parentSpanId, hop: below, depthIsStated: true };
    return this.#guard.admit(origin, { depthIsStated: true });
  }

  /** For calls without a caller: a turn of the user's. What comes back of it is then recognised. */
  enter({ trace, hop }: GuardedCall): Disposable {
    const leave = this.#guard.track(trace, hop);
    return { [Symbol.dispose]: leave };
  }

  /**
   * A gateway announces the call itself as the last link, an agent sends only those above it. A last
   * link of our own is a cycle after all when it is on a chain that we sent out.
   */
  #chainAbove({ trace, hop }: GuardedCall, link: string): string[] {
    if (hop.chain.at(-1) !== link) return hop.chain;
    const sent = this.#guard.inFlight(trace.trace_id).map(nextHop);
    return sent.some((known) => isSame(known, hop)) ? hop.chain : hop.chain.slice(0, -1);
  }
}

/** The trace to answer with when a call was refused: the caller's, when it can be read. */
export function answerTrace(carriers: Carriers): Trace {
  return toAnswerTrace(() => readOrigin(carriers));
}

/** Trace and hop of a call that a tool makes to another agent. */
export function outgoingCall({ trace, hop }: Pick<ToolContext, 'trace' | 'hop'>): GuardedCall {
  return {
    trace: { ...trace, parent_span_id: null },
    hop: nextHop({ depth: hop.depth, chain: [...hop.chain] }),
  };
}

/** The name as an id that fits on a chain. */
export function toAgentId(name: string): string {
  const id = name.toLowerCase().replace(/[^a-z0-9_-]+/g, '-');
  return id.replace(/^[_-]+|[_-]+$/g, '').slice(0, 31) || 'agent';
}

function readOrigin({ mandated, meta = {}, headers = {} }: Carriers): Origin {
  const stated = mergeOrigins(fromMeta(meta), fromHeaders(headers));
  return mandated ? mergeOrigins(mandated, stated) : stated;
}

function toCapability(tool: string): string {
  return tool.replace(/[^A-Za-z0-9_.:-]/g, '_').slice(0, 64) || '_';
}

function isSame(first: Hop, second: Hop): boolean {
  return first.depth === second.depth && first.chain.join() === second.chain.join();
}
