import {
  assignedOrigin,
  type Fields,
  fromHeaders,
  fromMeta,
  type GuardedCall,
  isTrustedAs,
  lowerTier,
  type Manifest,
  mergeOrigins,
  type Origin,
  type RecursionGuard,
  type Trace,
  toAnswerTrace,
} from '@starloom/core';
import { onBehalfOf } from '@starloom/identity';
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

/** The trace of an answer: that of its request, else the one that the caller names. */
export function answerTrace(carriers: Carriers & Pick<Caller, 'request'>): Trace {
  return carriers.request?.trace ?? toAnswerTrace(() => readOrigin(carriers));
}

// The keys of a request's `_meta` that an agent receives. Keys of MCP itself, of the trace, of ours and
// credentials belong to the hop between client and gateway, and are removed.

type Meta = Readonly<Record<string, unknown>>;

const OF_THE_PROTOCOL = 'io.modelcontextprotocol/';
/** MCP reserves prefixes whose first or second label is one of these. */
const RESERVED = /^(?:[^./]+\.)?(?:mcp|modelcontextprotocol)[./]/;
const OURS = ['io.starloom/', 'x-openstarry-', 'x-agent-'];
const OF_THE_HOP: ReadonlySet<string> = new Set([
  'progresstoken',
  'traceparent',
  'tracestate',
  'baggage',
  'authorization',
  'cookie',
]);

/** Those of a request at this agent; `undefined` when there are none. */
export function metaFor({ trust_tier, pass_meta }: Manifest, meta: Meta): Fields | undefined {
  return (pass_meta ?? isTrustedAs(trust_tier, 'org')) ? passedMeta(meta) : undefined;
}

/** The keys that may be passed on to agents at all. */
export function passedMeta(meta: Meta): Fields | undefined {
  let passed: Fields | undefined;
  for (const key of Object.keys(meta)) {
    if (key.startsWith(OF_THE_PROTOCOL) || !isPassed(key.toLowerCase())) continue;
    passed ??= {};
    passed[key] = meta[key];
  }
  return passed;
}

function isPassed(key: string): boolean {
  if (OF_THE_HOP.has(key) || RESERVED.test(key)) return false;
  return !OURS.some((prefix) => key.startsWith(prefix));
}
