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
import { agentOfMarks } from '@starloom/wire';
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

/** Gives a call its place in its trace, or refuses it with RECURSION_LIMIT. */
export function admit(
  caller: Pick<Caller, 'headers' | 'meta' | 'principal' | 'originTier' | 'request'>,
  guard: RecursionGuard,
): GuardedCall {
  const { principal, originTier = principal.tier } = caller;
  const call = guard.admit(readOrigin(caller), {
    principal: onBehalfOf(principal),
    agentId: startedAgent(caller),
    tier: lowerTier(originTier, principal.tier),
  });
  caller.request?.follow(call.trace);
  return call;
}

/** The agent in whose program the caller runs, if this gateway started it. */
function startedAgent({ headers }: Pick<Caller, 'headers'>): string | undefined {
  const marks = headers[PROCESS_HEADER];
  return typeof marks === 'string' ? agentOfMarks(marks) : undefined;
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
