// A call, from admitted request to result, as the steps in their order. Every face that calls an
// agent comes through here: there is no second pipeline.

import {
  type Clock,
  DEFAULT_TIMEOUT_MS,
  type EventBody,
  EventStamper,
  FabricError,
  type GuardedCall,
  type Trace,
} from '@starloom/core';
import { toAuth } from '@starloom/identity';
import type { Discovery } from '../discovery.ts';
import type { ActiveCall, Observer } from '../observe/observer.ts';
import type { Caller, CallRequest } from './call-request.ts';
import { type DispatchDeps, type Dispatched, dispatch } from './dispatch.ts';
import { EventChannel } from './event-channel.ts';
import { answerTrace, readOrigin } from './origin.ts';
import { route } from './route.ts';

const STALL_MS = 30_000;
/** How long a call waits for an agent that has not said yet what it offers. */
const DISCOVERY_WAIT_MS = 30_000;

export interface CallDeps extends DispatchDeps {
  readonly discovery: Discovery;
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
  let trace: Trace | undefined;
  try {
    const guarded = deps.guard.admit(readOrigin(caller));
    trace = guarded.trace;
    const dispatched = await observe(request, caller, guarded, deps);
    return { ok: true, dispatched, trace };
  } catch (error) {
    return { ok: false, error: FabricError.from(error), trace: trace ?? answerTrace(caller) };
  }
}

async function observe(
  request: CallRequest,
  caller: Caller,
  guarded: GuardedCall,
  deps: CallDeps,
): Promise<Dispatched> {
  const observed = deps.observer.callStarted({
    trace: guarded.trace,
    transport: caller.transport,
    method: 'tools/call',
    name: caller.tool,
    principal: caller.principal.id,
    stream: request.stream,
    depth: guarded.hop.depth,
    ...(caller.protocolVersion && { protocolVersion: caller.protocolVersion }),
    ...(caller.requestId !== undefined && { requestId: caller.requestId }),
  });
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
  const waitMs = Math.min(request.timeoutMs ?? DEFAULT_TIMEOUT_MS, DISCOVERY_WAIT_MS);
  await deps.discovery.awaitFor(request, caller.signal, waitMs);
  const { candidates } = route(request, guarded, deps);
  const [first] = candidates;
  const firstId = first.record.manifest.agent_id;
  observed.target(firstId, request.capability);
  const auth = toAuth(caller.principal);
  using stop = new CallStop(caller.signal);
  const channel = openChannel(caller, guarded, stop, deps);
  const emit = (body: EventBody, agentId: string) => {
    observed.event(body.type);
    return channel?.push(body, agentId);
  };
  if (channel) {
    const message = candidates.map(({ record }) => record.manifest.agent_id).join(', then ');
    await emit({ type: 'status', data: { state: 'accepted' } }, firstId);
    await emit({ type: 'status', data: { state: 'routed', message } }, firstId);
  }
  const { signal } = stop;
  const { notify } = caller;
  const dispatched = await dispatch(
    { request, auth, guarded, candidates, observed, emit, signal, notify },
    deps,
  );
  if (channel) {
    await emit({ type: 'final', data: toLastEvent(dispatched) }, dispatched.agentId);
    await channel.drain();
  }
  return dispatched;
}

function openChannel(
  { send, cut }: Caller,
  { trace }: GuardedCall,
  stop: CallStop,
  { clock, observer, stallMs = STALL_MS }: CallDeps,
): EventChannel | undefined {
  if (!send) return undefined;
  return new EventChannel({
    stamper: new EventStamper(trace, clock.now),
    send,
    stallMs,
    onCut: (error) => {
      stop.abort(error);
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

/** Stops a call when its caller leaves, or is given up. */
class CallStop implements Disposable {
  readonly #control = new AbortController();
  readonly #caller: AbortSignal;
  readonly #onGone = () => this.abort(toReason(this.#caller.reason));

  constructor(caller: AbortSignal) {
    this.#caller = caller;
    if (caller.aborted) this.#onGone();
    else caller.addEventListener('abort', this.#onGone, { once: true });
  }

  get signal(): AbortSignal {
    return this.#control.signal;
  }

  abort(reason: FabricError): void {
    this.#control.abort(reason);
  }

  [Symbol.dispose](): void {
    this.#caller.removeEventListener('abort', this.#onGone);
  }
}

function toReason(reason: unknown): FabricError {
  if (FabricError.is(reason)) return reason;
  return new FabricError('CANCELLED', 'The caller cancelled the call', { cause: reason });
}
