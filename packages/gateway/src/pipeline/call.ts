// A call, from admitted request to result, as the steps in their order. Every face that calls an
// agent comes through here: there is no second pipeline.

import {
  type Clock,
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
import { type Authoriser, toAuth } from '@starloom/identity';
import type { Discovery } from '../discovery.ts';
import type { ActiveCall, Observer } from '../observe/observer.ts';
import { type AuditCall, allowed, auditRefusal } from './audit-call.ts';
import { agentsForCall, type CallableAgents, deniedBy } from './authorise.ts';
import type { Caller, CallRequest } from './call-request.ts';
import type { CallSlots } from './call-slots.ts';
import {
  type Conversations,
  noOpenQuestion,
  type Reopened,
  unknownConversation,
} from './conversations.ts';
import { type DispatchCall, type DispatchDeps, type Dispatched, dispatch } from './dispatch.ts';
import { toInput } from './envelope.ts';
import { EventChannel } from './event-channel.ts';
import { readDelegate } from './mandates.ts';
import { admit, answerTrace, toPolicyCall } from './origin.ts';
import type { ParkedCalls } from './parked-calls.ts';
import { type Candidate, route } from './route.ts';
import { type Leg, RunningCall } from './running-call.ts';

const STALL_MS = 30_000;
/** How long a call waits for an agent that has not said yet what it offers. */
const DISCOVERY_WAIT_MS = 30_000;

export interface CallDeps extends DispatchDeps {
  readonly authoriser: Authoriser;
  readonly discovery: Discovery;
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
  readonly clock: Clock;
  /** How long a reader may take nothing before it is cut off. */
  readonly stallMs?: number | undefined;
}

export type CallOutcome =
  | { readonly ok: true; readonly dispatched: Dispatched; readonly trace: Trace }
  | { readonly ok: false; readonly error: FabricError; readonly trace: Trace };

export async function runCall(
  request: CallRequest,
  caller: Caller,
  deps: CallDeps,
): Promise<CallOutcome> {
  let guarded: GuardedCall | undefined;
  let isObserved = false;
  try {
    deps.assertCurrent(caller);
    // A stored call was charged when it was accepted, to its budget too.
    if (!caller.isStored) deps.limits.admit(caller.principal);
    const admitted = admit(caller, deps.guard);
    guarded = admitted instanceof Promise ? await admitted : admitted;
    const spent = caller.isStored ? undefined : deps.mandates.spend(guarded, caller.principal);
    if (spent) await spent;
    const turn = deps.callerSlots.enter(caller.principal.id, caller.signal);
    if (turn) await turn;
    try {
      isObserved = true;
      const dispatched = await observe(request, caller, guarded, deps);
      return { ok: true, dispatched, trace: guarded.trace };
    } finally {
      deps.callerSlots.leave(caller.principal.id);
    }
  } catch (thrown) {
    const error = FabricError.from(thrown);
    const trace = guarded?.trace ?? answerTrace(caller);
    if (caller.request) caller.request.fail(error);
    else if (!isObserved) {
      start(request, caller, guarded ?? { trace, hop: ROOT_HOP }, deps).end({ ok: false, error });
    }
    auditRefusal(request, caller, trace, error, deps);
    return { ok: false, error, trace };
  }
}

function start(
  { stream }: CallRequest,
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
    stream,
    depth: hop.depth,
    ...(caller.protocolVersion && { protocolVersion: caller.protocolVersion }),
    ...(caller.requestId !== undefined && { requestId: caller.requestId }),
  });
}

async function observe(
  request: CallRequest,
  caller: Caller,
  guarded: GuardedCall,
  deps: CallDeps,
): Promise<Dispatched> {
  const observed = start(request, caller, guarded, deps);
  caller.request?.becomesCall();
  try {
    const dispatched = await serve(request, caller, guarded, observed, deps);
    observed.end({ ok: true, agentId: dispatched.agentId, fallback: dispatched.fallback });
    return dispatched;
  } catch (thrown) {
    const error = FabricError.from(thrown);
    observed.end({ ok: false, error });
    throw error;
  }
}

async function serve(
  request: CallRequest,
  caller: Caller,
  guarded: GuardedCall,
  observed: ActiveCall,
  deps: CallDeps,
): Promise<Dispatched> {
  const conversation = reopen(request, caller, deps);
  const agents = agentsForCall(
    caller.principal,
    deps,
    toPolicyCall(guarded, caller, deps.clock.now()),
  );
  if (conversation?.isParked) {
    assertCallable(conversation, agents);
    return await answer(conversation, caller, guarded, observed, deps);
  }
  const wanted = conversation ? continued(request, conversation) : request;
  const waitMs = Math.min(wanted.timeoutMs ?? DEFAULT_TIMEOUT_MS, DISCOVERY_WAIT_MS);
  const described = deps.discovery.awaitFor(wanted, caller, waitMs);
  if (described) await described;
  const { breakers, guard } = deps;
  const routed = route(wanted, guarded, { agents, breakers, guard }).candidates;
  const candidates = conversation ? ([routed[0]] as const) : routed;
  const [first] = candidates;
  const asked = { ...wanted, capability: first.capability.name };
  if (!caller.isStored) deps.limits.spend(caller.principal, first.capability.cost);
  deps.audit(allowed(asked, caller, guarded, candidates));
  logRules(candidates, observed);
  const { conversations, parked, clock } = deps;
  const call = new RunningCall({
    principalId: caller.principal.id,
    input: toInput(asked),
    questionMs: caller.questionMs,
    conversations,
    parked,
    clock,
  });
  const firstId = first.record.manifest.agent_id;
  observed.target(firstId, asked.capability);
  if (conversation) deps.conversations.use(conversation);
  const { emit, signal } = call;
  const { notify, meta, declared, willSend, principal } = caller;
  const dispatching: DispatchCall = {
    request: asked,
    principal,
    auth: toAuth(principal),
    delegate: readDelegate(caller),
    guarded,
    candidates,
    observed,
    emit,
    signal,
    notify,
    meta,
    declared,
    ask: (...given) => call.ask(...given),
    resume: conversation ?? unasked(request),
    keepRunning: keeperOf(caller, deps),
    willSend,
  };
  const begin = (leg: Leg) => call.start(leg, () => dispatch(dispatching, deps));
  if (!caller.send) return await inLeg(call, caller, guarded, observed, deps, begin);
  return await inLeg(call, caller, guarded, observed, deps, async (leg) => {
    const message = candidates.map(({ record }) => record.manifest.agent_id).join(', then ');
    await leg.emit({ type: 'status', data: { state: 'accepted' } }, firstId);
    await leg.emit({ type: 'status', data: { state: 'routed', message } }, firstId);
    return await begin(leg);
  });
}

/** The conversation that the request goes on with, if it names one. */
function reopen(request: CallRequest, caller: Caller, deps: CallDeps): Reopened | undefined {
  const { conversationId, inputs, agentId, capability } = request;
  if (conversationId === undefined) {
    if (inputs?.some(({ response }) => response.native === undefined)) throw noOpenQuestion();
    return undefined;
  }
  const conversation = deps.conversations.open(conversationId, caller.principal.id, inputs);
  const isOther =
    (agentId !== undefined && agentId !== conversation.agentId) ||
    (conversation.questions.length > 0 &&
      normalName(capability) !== normalName(conversation.capability));
  if (isOther) throw unknownConversation();
  return conversation;
}

/** A call that waits for an answer goes on only while the caller may make it. */
function assertCallable({ agentId, capability }: Reopened, agents: CallableAgents): void {
  const record = agents.get(agentId);
  if (!record || !findCapability(record, capability)) throw unknownConversation();
  const decision = agents.decide(record, capability);
  if (decision.effect !== 'allow') throw deniedBy(decision, { agent_id: agentId, capability });
}

/** The log of a call is made when it is first needed, which costs more than all of this. */
function logRules(candidates: readonly Candidate[], observed: ActiveCall): void {
  for (const { record, decision } of candidates) {
    const { effect, rule } = decision;
    if (rule === undefined) continue;
    const { agent_id } = record.manifest;
    observed.log.debug({ agent_id, rule, effect }, 'a policy rule decided');
  }
}

/** Answers that a caller of the agent's protocol gives before it is asked: the agent may use them. */
function unasked({ inputs = [] }: CallRequest): DispatchCall['resume'] {
  if (inputs.length === 0) return undefined;
  return { handle: undefined, responses: inputs.map(({ id, response }) => ({ id, ...response })) };
}

function continued(request: CallRequest, { agentId, input }: Reopened): CallRequest {
  return { ...request, ...input, agentId };
}

/** Goes on with an attempt that waits in this process. */
async function answer(
  conversation: Reopened,
  caller: Caller,
  guarded: GuardedCall,
  observed: ActiveCall,
  deps: CallDeps,
): Promise<Dispatched> {
  const { nonce, responses = [], agentId, capability } = conversation;
  observed.target(agentId, capability);
  const call = deps.parked.get(nonce);
  if (!call) throw noOpenQuestion();
  return await inLeg(call, caller, guarded, observed, deps, async (leg) => {
    await leg.emit({ type: 'status', data: { state: 'started' } }, agentId);
    deps.conversations.use(conversation);
    const outcome = call.next(leg, () => deps.parked.answer(nonce, responses));
    if (!outcome) throw noOpenQuestion();
    return await outcome;
  });
}

/** Serves a call for as long as this caller waits for it. */
async function inLeg(
  call: RunningCall,
  caller: Caller,
  { trace }: GuardedCall,
  observed: ActiveCall,
  deps: CallDeps,
  work: (leg: Leg) => Promise<Dispatched>,
): Promise<Dispatched> {
  const unfollow = call.follow(caller.signal);
  const channel = openChannel(caller, trace, call, deps);
  const emit = (body: EventBody, agentId: string) => {
    observed.event(body.type);
    return channel?.push(body, agentId);
  };
  const canAsk: Leg['canAsk'] = (inputs) => caller.toInputRequired?.(inputs, '') !== undefined;
  try {
    const dispatched = await work({ emit, canAsk });
    const sent = emit({ type: 'final', data: toLastEvent(dispatched) }, dispatched.agentId);
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
  const { agentId, capability, kept: handle } = dispatched;
  if (!handle) return dispatched;
  const conversation = { principalId: principal.id, agentId, capability, handle, questions: [] };
  return { ...dispatched, conversationId: conversations.seal(conversation) };
}

/** Where the call is a job: what runs at the agent is joined again under an id of ours. */
function keeperOf(
  { principal, keepRunning }: Caller,
  { conversations }: CallDeps,
): DispatchCall['keepRunning'] {
  if (!keepRunning) return undefined;
  return async (handle, by) => {
    const id = conversations.seal({ principalId: principal.id, ...by, handle, questions: [] });
    if (id !== undefined) await keepRunning(id);
  };
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
function toLastEvent({ result: { answer, citations, data } }: Dispatched) {
  return {
    answer,
    ...(citations && { citations }),
    ...(data !== undefined && { data }),
  };
}
