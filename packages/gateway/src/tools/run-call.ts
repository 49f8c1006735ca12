// A call, from admitted request to result, as the steps in their order. Every face that calls an
// agent comes through here: there is no second pipeline.

import { type Clock, EventStamper, FabricError, type Trace } from '@starloom/core';
import { toAuth } from '@starloom/identity';
import type { Observer } from '../observe/observer.ts';
import type { Caller, CallRequest } from '../pipeline/call-request.ts';
import { type DispatchDeps, type Dispatched, dispatch } from '../pipeline/dispatch.ts';
import { buildEnvelope } from '../pipeline/envelope.ts';
import { EventChannel } from '../pipeline/event-channel.ts';
import type { GuardedCall } from '../pipeline/guard.ts';
import { answerTrace, readOrigin } from '../pipeline/origin.ts';
import { route } from '../pipeline/route.ts';

export interface CallDeps extends DispatchDeps {
  readonly observer: Observer;
  readonly clock: Clock;
}

export type CallOutcome =
  | { readonly ok: true; readonly dispatched: Dispatched; readonly trace: Trace }
  | { readonly ok: false; readonly error: FabricError; readonly trace: Trace };

export async function runCall(
  request: CallRequest,
  caller: Caller,
  deps: CallDeps,
): Promise<CallOutcome> {
  let trace = answerTrace(caller);
  try {
    const guarded = deps.guard.admit(readOrigin(caller));
    trace = guarded.trace;
    const dispatched = await observe(request, caller, guarded, deps);
    return { ok: true, dispatched, trace };
  } catch (error) {
    return { ok: false, error: FabricError.from(error), trace };
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
  const stop = new AbortController();
  const onGone = () => stop.abort(asReason(caller.signal.reason));
  if (caller.signal.aborted) onGone();
  else caller.signal.addEventListener('abort', onGone, { once: true });
  const channel =
    caller.send &&
    new EventChannel({
      stamper: new EventStamper(guarded.trace, deps.clock.now),
      send: caller.send,
      onCut: (error) => {
        stop.abort(error);
        if (error.code !== 'OVERLOADED') return;
        deps.observer.streamDropped('slow_reader');
        caller.cut();
      },
    });
  try {
    const { candidates } = route(request, guarded, deps);
    const first = candidates[0]?.record.manifest.agent_id;
    observed.target(first, request.capability);
    const envelope = buildEnvelope(request, first ?? '', toAuth(caller.principal), guarded);
    const emit: Parameters<typeof dispatch>[0]['emit'] = (body, agentId) => {
      observed.event(body.type);
      return channel?.push(body, agentId);
    };
    if (first && channel) {
      const names = candidates.map(({ record }) => record.manifest.agent_id);
      await emit({ type: 'status', data: { state: 'accepted' } }, first);
      await emit(
        { type: 'status', data: { state: 'routed', message: names.join(', then ') } },
        first,
      );
    }
    const { notify } = caller;
    const call = {
      envelope,
      candidates,
      observed,
      emit,
      signal: stop.signal,
      ...(notify && { notify }),
    };
    const dispatched = await dispatch(call, deps);
    await finish(dispatched, emit, channel);
    observed.end({ ok: true, agentId: dispatched.agentId, fallback: dispatched.fallback });
    return dispatched;
  } catch (thrown) {
    const error = FabricError.from(thrown);
    observed.end({ ok: false, error });
    throw error;
  } finally {
    caller.signal.removeEventListener('abort', onGone);
  }
}

/** The last event is `final`; its content stands in the result too. */
async function finish(
  { result, agentId }: Dispatched,
  emit: Parameters<typeof dispatch>[0]['emit'],
  channel: EventChannel | undefined,
): Promise<void> {
  if (!channel) return;
  const { upstream: _, tool_calls: __, content: ___, ...data } = result;
  await emit({ type: 'final', data }, agentId);
  await channel.drain();
}

function asReason(reason: unknown): FabricError {
  if (FabricError.is(reason)) return reason;
  return new FabricError('CANCELLED', 'The caller cancelled the call', { cause: reason });
}
