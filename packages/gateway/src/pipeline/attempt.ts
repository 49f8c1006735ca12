// One attempt at one agent: its envelope, what its adapter gets beside that, and its events, which pass
// through as they come. It is bounded in time and size here at the adapter's boundary, whatever the
// adapter itself does.

import {
  type Adapter,
  type AgentHandle,
  type AskOptions,
  type CallContext,
  type Capability,
  type Clock,
  type Deadline,
  type Envelope,
  type EventBody,
  extendChain,
  FabricError,
  type Hop,
  type InboundWebhook,
  type InputRequest,
  type InputResponse,
  type KeepOptions,
  type Log,
  type Manifest,
  orAborted,
  protocolOf,
  type RecursionGuard,
  type ResultFold,
} from '@starloom/core';
import { toAuth } from '@starloom/identity';
import { type DeadlineSignal, resultTurns, streamTurns } from '@starloom/wire';
import type { AdapterLease, AdapterPool } from '../adapter-pool.ts';
import type { ArgumentSchemas } from '../argument-schemas.ts';
import type { InboundWebhooks } from '../inbound-webhooks.ts';
import type { ActiveAttempt } from '../observe/observer.ts';
import { failure } from '../reasons.ts';
import type { CallSlots } from './agent-gate.ts';
import type { Breakers } from './breakers.ts';
import type { CallRequest } from './call-request.ts';
import type { CallLimits } from './limits.ts';
import type { CarriedMandate, Mandates } from './mandates.ts';
import { metaFor } from './origin.ts';
import type { Candidate } from './route.ts';
import type { Asking, RunningCall } from './running-call.ts';

/** Throws MANIFEST_CHANGED when what the agent lists of a capability was not approved. */
export type Confirm = (manifest: Manifest, capability: Capability, offered: Capability) => void;

export interface AttemptDeps {
  readonly adapters: AdapterPool;
  readonly webhooks: Pick<InboundWebhooks, 'open'>;
  readonly breakers: Breakers;
  readonly guard: RecursionGuard;
  readonly schemas: ArgumentSchemas;
  readonly agentSlots: CallSlots;
  readonly limits: CallLimits;
  readonly mandates: Mandates;
  readonly clock: Clock;
  /** Largest answer, in characters of text. */
  readonly resultLength: number;
  readonly confirm?: Confirm | undefined;
}

/** What the call leaves to this attempt. */
interface AttemptTerms {
  /** How many attempts were made before. */
  readonly index: number;
  /** What the caller gave; it is fitted to the capability. */
  readonly input: Envelope['input'];
  readonly timeoutMs: number;
  /** Of the whole call. */
  readonly deadline: Deadline;
  readonly streams: boolean;
  /** Collects the events. */
  readonly fold: ResultFold;
}

/** What the agent keeps for a next call. Throws only FabricError. */
export async function runAttempt(
  candidate: Candidate,
  call: RunningCall,
  terms: AttemptTerms,
  deps: AttemptDeps,
): Promise<AgentHandle | undefined> {
  const { capability, record } = candidate;
  const { manifest } = record;
  const { agent_id, node_id } = manifest;
  const { guarded } = call.prepared;
  const active = call.observed.attempt({
    agentId: agent_id,
    nodeId: node_id,
    protocol: protocolOf(manifest.endpoint),
    index: terms.index,
    isFallback: candidate.kind !== 'primary',
    breaker: deps.breakers.state(candidate.circuit),
  });
  const hop = extendChain(guarded.hop, agent_id, capability.name);
  const input = deps.schemas.toInput(capability, terms.input);
  const time = call.bound(terms.timeoutMs);
  const context = new AttemptContext(candidate, call, active, time, terms, deps);
  const forget = deps.guard.track(active.trace, hop, {
    root: guarded.root,
    originTier: guarded.originTier,
    agentPrincipal: manifest.auth?.principal,
    agentId: manifest.endpoint.transport === 'http' ? undefined : agent_id,
  });
  const { principal, willSend } = call.prepared.caller;
  let isInSlot = false;
  let lease: AdapterLease | undefined;
  let mandate: CarriedMandate | undefined;
  try {
    deps.limits.attempt(agent_id);
    const turn = deps.agentSlots.enter(agent_id, context.signal, principal.id);
    if (turn) await turn;
    isInSlot = true;
    const leased = deps.adapters.lease(manifest);
    lease = leased instanceof Promise ? await leased : leased;
    if (manifest.auth?.mandate) {
      mandate = await deps.mandates.forAttempt(call.prepared, manifest, capability.name);
      context.mandate = mandate.token;
    }
    if (willSend) await willSend();
    const envelope = toEnvelope(context, hop, input, mandate?.auth);
    await readEvents(lease.adapter, envelope, context, deps.resultLength);
    active.end({ ok: true });
    return context.kept;
  } catch (error) {
    active.end({ ok: false, error: FabricError.from(error) });
    throw error;
  } finally {
    mandate?.release();
    lease?.[Symbol.dispose]();
    if (isInSlot) deps.agentSlots.leave(agent_id, principal.id);
    forget();
    time.cancel();
  }
}

function toEnvelope(
  { call, trace, manifest, capability, terms }: AttemptContext,
  hop: Hop,
  input: Envelope['input'],
  mandated: CarriedMandate['auth'] | undefined,
): Envelope {
  const { request, caller } = call.prepared;
  const { format, session_id, idempotency_key } = request;
  const auth = toAuth(caller.principal);
  return {
    trace,
    auth: mandated ? { ...auth, ...mandated } : auth,
    target: {
      agent_id: manifest.agent_id,
      capability: capability.name,
      timeout_ms: Math.max(1, Math.ceil(terms.timeoutMs)),
      deadline_ms: Math.max(1, Math.ceil(terms.deadline.remainingMs())),
    },
    input,
    response: { stream: terms.streams, format },
    hop,
    ...(session_id && { session_id }),
    ...(idempotency_key && { idempotency_key }),
  };
}

/** What the caller gave, before it is fitted to a capability. */
export function toInput(request: CallRequest): Envelope['input'] {
  const { task, arguments: given, context, attachments } = request;
  return { task, ...(given && { arguments: given }), context, attachments };
}

/** Resolves after `final`, with everything folded. */
export async function readEvents(
  adapter: Adapter,
  envelope: Envelope,
  context: AttemptContext,
  maxLength: number,
): Promise<void> {
  const events = adapter.call(envelope, context)[Symbol.asyncIterator]();
  const caller = envelope.auth.principal_id ?? '';
  let length = 0;
  try {
    while (true) {
      const next = await context.until(events.next());
      if (next.done) throw failure('no_final');
      const body = next.value;
      length += textLength(body);
      if (length > maxLength) throw failure('result_too_large', { limit: maxLength });
      context.terms.fold.add(body);
      if (body.type !== 'final') await context.emit(body);
      // Some streams never pause, and the results of a thousand calls may come at once.
      const turn = (body.type === 'final' ? resultTurns : streamTurns).enter(caller);
      if (turn) await turn;
      if (body.type === 'final') return;
    }
  } catch (error) {
    throw FabricError.from(error);
  } finally {
    closeQuietly(events, context);
  }
}

/** Tells the adapter that the consumer does not read on; its answer to that is not waited for. */
function closeQuietly(events: AsyncIterator<EventBody>, context: CallContext): void {
  events.return?.().catch((error: unknown) => {
    context.log.debug({ error: FabricError.from(error) }, 'closing an attempt failed');
  });
}

function textLength({ type, data }: EventBody): number {
  if (type === 'token') return data.text.length;
  if (type === 'artifact') return 64 + (data.text ?? data.data ?? '').length;
  return type === 'final' ? data.answer.length : 0;
}

/**
 * What an adapter gets beside the envelope. A logger is made only for the attempt that writes to it. What
 * is not always asked for is a method or a getter: functions made for every attempt kept whole calls
 * alive over several garbage collections, whose pauses were ten times as long.
 */
class AttemptContext implements CallContext {
  readonly call: RunningCall;
  readonly manifest: Manifest;
  readonly capability: Capability;
  readonly terms: AttemptTerms;
  readonly signal: AbortSignal;
  mandate: string | undefined;
  /** With what the conversation goes on after the call. */
  kept: AgentHandle | undefined;
  /** Settles when what runs at the agent is stored; events wait for it. */
  stored: Promise<void> | undefined;
  readonly #active: ActiveAttempt;
  readonly #time: DeadlineSignal;
  readonly #deps: AttemptDeps;

  constructor(
    { record, capability }: Candidate,
    call: RunningCall,
    active: ActiveAttempt,
    time: DeadlineSignal,
    terms: AttemptTerms,
    deps: AttemptDeps,
  ) {
    this.call = call;
    this.manifest = record.manifest;
    this.capability = capability;
    this.signal = time.signal;
    this.#active = active;
    this.#time = time;
    this.terms = terms;
    this.#deps = deps;
  }

  get trace() {
    return this.#active.trace;
  }

  /** See `DeadlineSignal.until`. */
  until<T>(promise: Promise<T>): Promise<T> {
    return this.#time.until(promise);
  }

  /** Passes an event on; after what runs at the agent is stored. */
  emit(body: EventBody): Promise<void> | undefined {
    const { call, manifest, stored } = this;
    if (stored) return stored.then(() => call.emit(body, manifest.agent_id));
    return call.emit(body, manifest.agent_id);
  }

  get notify(): CallContext['notify'] {
    return this.call.prepared.caller.notify;
  }

  get meta(): CallContext['meta'] {
    return metaFor(this.manifest, this.call.prepared.caller.meta);
  }

  get declared(): CallContext['declared'] {
    return this.call.prepared.caller.declared;
  }

  get handle(): CallContext['handle'] {
    return this.call.resume?.handle;
  }

  get responses(): CallContext['responses'] {
    return this.call.resume?.responses;
  }

  get confirm(): CallContext['confirm'] {
    const { confirm } = this.#deps;
    return confirm && ((offered) => confirm(this.manifest, this.capability, offered));
  }

  get log(): Log {
    return this.#active.log;
  }

  readonly keep = (handle: AgentHandle, { isRunning = false }: KeepOptions = {}): void => {
    if (!isRunning) this.kept = handle;
    else if (this.call.keepsRunning) this.stored = this.#store(handle);
  };

  /** While a question is open only its own time runs. */
  readonly ask = async (
    requests: readonly InputRequest[],
    options: AskOptions = {},
  ): Promise<InputResponse[]> => {
    const { fold, deadline } = this.terms;
    const { clock } = this.#deps;
    fold.add({ type: 'status', data: { state: 'awaiting_input' } });
    const began = clock.monotonic();
    using _ = this.#time.pause();
    try {
      return await orAborted(this.call.ask(requests, options, this.#by), this.signal);
    } finally {
      deadline.extend(clock.monotonic() - began);
    }
  };

  openWebhook(onNotice: () => void): InboundWebhook | undefined {
    return this.#deps.webhooks.open(this.manifest, onNotice);
  }

  get #by(): Asking {
    const { agent_id: agentId, node_id: nodeId } = this.manifest;
    return { agentId, nodeId, capability: this.capability.name };
  }

  /** A job that lost its claim is ended by its signal, so nothing is thrown here. */
  async #store(handle: AgentHandle): Promise<void> {
    try {
      await this.call.keepRunning(handle, this.#by);
    } catch (error) {
      this.log.warn({ error: FabricError.from(error) }, 'a running task could not be stored');
    } finally {
      this.stored = undefined;
    }
  }
}
