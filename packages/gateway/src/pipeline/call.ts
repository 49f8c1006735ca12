// A call, from admitted request to result, as the steps in their order. Every face that calls an
// agent comes through here: there is no second pipeline.

import {
  DEFAULT_TIMEOUT_MS,
  type EventBody,
  EventStamper,
  FabricError,
  findCapability,
  type GuardedCall,
  normalName,
  ROOT_HOP,
  type Trace,
} from '@starloom/core';
import type { ActiveCall, Observer } from '../observe/observer.ts';
import { failure } from '../reasons.ts';
import type { CallSlots } from './agent-gate.ts';
import { type AuditCall, auditRefusal, toAllowedEntry } from './audit-call.ts';
import type { Caller, CallRequest } from './call-request.ts';
import type { Conversations, Reopened } from './conversations.ts';
import { type DispatchDeps, type Dispatched, dispatch } from './dispatch.ts';
import { EventChannel } from './event-channel.ts';
import type { EventTaps } from './event-taps.ts';
import { deniedBy } from './no-route.ts';
import { answerTrace } from './origin.ts';
import type { ParkedCalls } from './parked-calls.ts';
import { callableAgents, enter, type PrepareDeps, prepare } from './prepare.ts';
import type { Candidate } from './route.ts';
import { type Leg, RunningCall } from './running-call.ts';

const STALL_MS = 30_000;
/** How long a call waits for an agent that has not said yet what it offers. */
export const DISCOVERY_WAIT_MS = 30_000;

export interface CallDeps extends DispatchDeps, PrepareDeps {
  readonly conversations: Conversations;
  readonly parked: ParkedCalls;
  readonly callerSlots: CallSlots;
  /** Writes down what was decided on a call. */
  readonly audit: AuditCall;
  /** Throws AUTH_DENIED when the credential of the caller was revoked or has expired meanwhile. */
  readonly assertCurrent: (caller: Pick<Caller, 'principal' | 'isStored'>) => void;
  /** Calls back when credentials were revoked or changed; returns how to stop that. */
  readonly onCredentials: (listener: () => void) => (() => void) | undefined;
  /** Throws BAD_INPUT when the caller has no agent in the session. */
  readonly assertMember: (caller: Caller, sessionId: string) => Promise<void>;
  readonly observer: Observer;
  /** People who look at events while calls run. */
  readonly taps: EventTaps;
  /** How long a reader may take nothing before it is cut off. */
  readonly stallMs?: number | undefined;
}

export type CallOutcome =
  | { readonly ok: true; readonly dispatched: Dispatched; readonly trace: Trace }
  | { readonly ok: false; readonly error: FabricError; readonly trace: Trace };

/** One call while it is served to one caller. */
interface ServedCall {
  readonly request: CallRequest;
  readonly caller: Caller;
  readonly guarded: GuardedCall;
  readonly observed: ActiveCall;
}

export async function runCall(
  request: CallRequest,
  caller: Caller,
  deps: CallDeps,
): Promise<CallOutcome> {
  let guarded: GuardedCall | undefined;
  let observed: ActiveCall | undefined;
  try {
    deps.assertCurrent(caller);
    // A stored call was charged when it was accepted, to its budget too.
    const entered = enter(caller, deps, caller.isStored);
    guarded = entered instanceof Promise ? await entered : entered;
    const turn = deps.callerSlots.enter(caller.principal.id, caller.signal);
    if (turn) await turn;
    try {
      observed = start(request, caller, guarded, deps);
      caller.request?.becomesCall();
      const dispatched = await serve({ request, caller, guarded, observed }, deps);
      const { agent_id: agentId, fallback, result } = dispatched;
      observed.end({ ok: true, agentId, fallback, result });
      return { ok: true, dispatched, trace: guarded.trace };
    } finally {
      deps.callerSlots.leave(caller.principal.id);
    }
  } catch (thrown) {
    const error = FabricError.from(thrown);
    const trace = guarded?.trace ?? answerTrace(caller);
    const isUnseen = observed === undefined && caller.request === undefined;
    if (isUnseen) observed = start(request, caller, guarded ?? { trace, hop: ROOT_HOP }, deps);
    observed?.end({ ok: false, error });
    caller.request?.aimedAt(request);
    caller.request?.fail(error);
    auditRefusal(request, caller, trace, error, deps);
    return { ok: false, error, trace };
  }
}

function start(
  request: CallRequest,
  caller: Caller,
  { trace, hop }: GuardedCall,
  { observer }: CallDeps,
): ActiveCall {
  return observer.callStarted({
    trace,
    transport: caller.transport,
    method: 'tools/call',
    name: caller.tool,
    principal: caller.principal.id,
    stream: request.stream,
    depth: hop.depth,
    asked: { request, caller, chain: hop.chain },
    protocolVersion: caller.protocolVersion,
    requestId: caller.requestId,
    job: caller.job,
  });
}

async function serve(served: ServedCall, deps: CallDeps): Promise<Dispatched> {
  const { request, caller, guarded, observed } = served;
  const conversation = reopen(request, caller, deps);
  if (conversation?.isParked) return await answer(conversation, served, deps);
  const wanted = conversation ? withConversationInput(request, conversation) : request;
  const waitMs = Math.min(wanted.timeout_ms ?? DEFAULT_TIMEOUT_MS, DISCOVERY_WAIT_MS);
  const preparing = prepare(wanted, caller, guarded, deps, {
    waitMs,
    nodeId: conversation?.nodeId,
  });
  const routed = preparing instanceof Promise ? await preparing : preparing;
  const prepared = conversation ? { ...routed, candidates: onlyFirst(routed) } : routed;
  const { candidates } = prepared;
  const [first] = candidates;
  if (!caller.isStored) deps.limits.spend(caller.principal, first.capability.cost);
  deps.audit(toAllowedEntry(prepared));
  logRules(candidates, observed);
  const firstId = first.record.manifest.agent_id;
  observed.routed(prepared);
  if (conversation) await deps.conversations.use(conversation);
  const call = new RunningCall(prepared, observed, conversation, deps);
  const begin = (leg: Leg) => call.start(leg, () => dispatch(call, deps));
  if (!caller.send) return await inLeg(call, served, deps, begin);
  return await inLeg(call, served, deps, async (leg) => {
    const message = candidates.map(({ record }) => record.manifest.agent_id).join(', then ');
    await leg.emit({ type: 'status', data: { state: 'accepted' } }, firstId);
    await leg.emit({ type: 'status', data: { state: 'routed', message } }, firstId);
    return await begin(leg);
  });
}

/** A conversation goes on with its agent, and with no other. */
function onlyFirst({ candidates }: { readonly candidates: readonly [Candidate, ...Candidate[]] }) {
  return [candidates[0]] as const;
}

/** The conversation that the request goes on with, if it names one. */
function reopen(request: CallRequest, caller: Caller, deps: CallDeps): Reopened | undefined {
  const { conversation_id, inputs, agent_id, capability } = request;
  if (conversation_id === undefined) {
    if (inputs?.some(({ response }) => response.native === undefined))
      throw failure('no_open_question');
    return undefined;
  }
  const conversation = deps.conversations.open(conversation_id, caller.principal.id, inputs);
  const isOther =
    (agent_id !== undefined && agent_id !== conversation.agentId) ||
    (conversation.questions.length > 0 &&
      normalName(capability) !== normalName(conversation.capability));
  if (isOther) throw failure('unknown_conversation');
  return conversation;
}

function logRules(candidates: readonly Candidate[], observed: ActiveCall): void {
  for (const { record, decision } of candidates) {
    const { effect, rule } = decision;
    if (rule === undefined) continue;
    observed.debug({ agent_id: record.manifest.agent_id, rule, effect }, 'a policy rule decided');
  }
}

function withConversationInput(request: CallRequest, { agentId, input }: Reopened): CallRequest {
  return { ...request, ...input, agent_id: agentId };
}

/** Goes on with an attempt that waits in this process. */
async function answer(
  conversation: Reopened,
  served: ServedCall,
  deps: CallDeps,
): Promise<Dispatched> {
  const { nonce, responses = [], agentId, capability } = conversation;
  assertCallable(conversation, served, deps);
  served.observed.target(agentId, capability);
  const call = deps.parked.get(nonce);
  if (!call) throw failure('no_open_question');
  return await inLeg(call, served, deps, async (leg) => {
    await leg.emit({ type: 'status', data: { state: 'started' } }, agentId);
    await deps.conversations.use(conversation);
    const outcome = call.next(leg, () => deps.parked.answer(nonce, responses));
    if (!outcome) throw failure('no_open_question');
    return await outcome;
  });
}

/** A call that waits for an answer goes on only while the caller may make it. */
function assertCallable(
  { agentId, capability }: Reopened,
  { caller, guarded }: ServedCall,
  deps: CallDeps,
): void {
  const agents = callableAgents(caller, guarded, deps);
  const record = agents.get(agentId);
  if (!record || !findCapability(record, capability)) throw failure('unknown_conversation');
  const decision = agents.decide(record, capability);
  if (decision.effect !== 'allow') throw deniedBy(decision, { agent_id: agentId, capability });
}

/** Serves a call for as long as this caller waits for it. */
async function inLeg(
  call: RunningCall,
  { caller, guarded, observed }: ServedCall,
  deps: CallDeps,
  work: (leg: Leg) => Promise<Dispatched>,
): Promise<Dispatched> {
  const unfollow = call.follow(caller.signal);
  const channel = openChannel(caller, guarded.trace, call, deps);
  const emit = (body: EventBody, agentId: string) => {
    observed.event(body.type);
    if (deps.taps.open.size > 0) deps.taps.send(guarded.trace, caller.principal.id, body, agentId);
    return channel?.push(body, agentId);
  };
  const canAsk: Leg['canAsk'] = (inputs) => caller.toInputRequired?.(inputs, '') !== undefined;
  try {
    const dispatched = await work({ emit, canAsk });
    const sent = emit({ type: 'final', data: toLastEvent(dispatched) }, dispatched.agent_id);
    if (sent) await sent;
    return withConversation(dispatched, caller, deps);
  } finally {
    if (channel) await channel.drain();
    unfollow();
  }
}

/** What the agent keeps is good for a next call, under an id of ours. */
function withConversation(
  dispatched: Dispatched,
  { principal }: Caller,
  { conversations }: CallDeps,
): Dispatched {
  const { agent_id: agentId, capability, kept: handle } = dispatched;
  if (!handle) return dispatched;
  const nodeId = dispatched.attempts.at(-1)?.node_id;
  const at = { principalId: principal.id, agentId, nodeId, capability };
  const conversation = { ...at, handle, questions: [] };
  return { ...dispatched, conversation_id: conversations.seal(conversation) };
}

function openChannel(
  { send, cut }: Caller,
  trace: Trace,
  call: RunningCall,
  { clock, observer, stallMs = STALL_MS }: CallDeps,
): EventChannel | undefined {
  if (!send) return undefined;
  return new EventChannel({
    stamper: new EventStamper(trace, clock.now),
    send,
    stallMs,
    onCut: (error) => {
      call.abort(error);
      if (error.code !== 'OVERLOADED') return;
      observer.streamDropped('slow_reader');
      cut();
    },
  });
}

/** What the contracts put into the last event; the result has it too, and more. */
export function toLastEvent({ result: { answer, citations, data } }: Dispatched) {
  return {
    answer,
    ...(citations && { citations }),
    ...(data !== undefined && { data }),
  };
}
