import {
  assignedOrigin,
  fromHeaders,
  fromMeta,
  type GuardedCall,
  lowerTier,
  mergeOrigins,
  type Origin,
  type RecursionGuard,
  type Trace,
  toAnswerTrace,
} from '@starloom/core';
import { onBehalfOf, type PolicyCall } from '@starloom/identity';
import { agentAtOtherEnd, agentOfMarks } from '@starloom/wire';
import type { Caller } from './call-request.ts';

/** The variable STARLOOM_PROCESS of the caller, which everything has that an agent starts. */
const PROCESS_HEADER = 'x-starloom-process';

type Carriers = Pick<Caller, 'headers' | 'meta'> & {
  readonly principal: Caller['principal'] | undefined;
};

/** Where a call comes from, by metadata and headers; BAD_INPUT when depth or chain are garbled. */
export function readOrigin({ headers, meta, principal }: Carriers): Origin {
  const stated = mergeOrigins(fromMeta(meta), fromHeaders(headers));
  const { traceId, depth } = principal?.delegation ?? {};
  if (traceId === undefined || depth === undefined) return stated;
  // A mandate names its trace: its bearer cannot begin another one, nor come up from where it is.
  return mergeOrigins(assignedOrigin(traceId, depth + 1), stated);
}

type Admitted = Pick<
  Caller,
  'headers' | 'meta' | 'principal' | 'originTier' | 'request' | 'socket'
>;

/** Gives a call its place in its trace, or refuses it with RECURSION_LIMIT. */
export function admit(caller: Admitted, guard: RecursionGuard): GuardedCall | Promise<GuardedCall> {
  const origin = readOrigin(caller);
  const place = (agentId: string | undefined) => {
    const { principal, originTier = principal.tier } = caller;
    const call = guard.admit(origin, {
      principal: onBehalfOf(principal),
      agentId,
      tier: lowerTier(originTier, principal.tier),
    });
    caller.request?.follow(call.trace);
    return call;
  };
  const marked = startedAgent(caller);
  const isPlaced = marked !== undefined || origin.traceId !== undefined;
  const found = isPlaced ? undefined : connectedAgent(caller, guard);
  return found ? found.then(place) : place(marked);
}

/** The agent in whose program the caller says it runs, if this gateway started it. */
function startedAgent({ headers }: Pick<Caller, 'headers'>): string | undefined {
  const marks = headers[PROCESS_HEADER];
  return typeof marks === 'string' ? agentOfMarks(marks) : undefined;
}

/** The agent whose program made the connection; not looked for while no started agent has a call. */
function connectedAgent({ socket }: Pick<Caller, 'socket'>, { servesStarted }: RecursionGuard) {
  return socket && servesStarted ? agentAtOtherEnd(socket) : undefined;
}

/** What rules are asked about beside caller and target. */
export function toPolicyCall(
  { hop, originTier }: GuardedCall,
  { principal }: Pick<Caller, 'principal'>,
  time: number,
): PolicyCall {
  return { depth: hop.depth, time, originTier: originTier ?? principal.tier };
}

/** The trace of an answer: that of its request, else the one that the caller names. */
export function answerTrace(carriers: Carriers & Pick<Caller, 'request'>): Trace {
  return carriers.request?.trace ?? toAnswerTrace(() => readOrigin(carriers));
}
