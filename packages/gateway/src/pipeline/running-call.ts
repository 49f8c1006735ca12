// A call that is being served, apart from the caller that waits for it at the moment. When the agent
// asks and the attempt has to wait in this process, the caller's leg ends with INPUT_REQUIRED; the
// caller that brings the answer starts the next leg, and the call goes on where it was.

import {
  type AgentHandle,
  type AskOptions,
  type CallContext,
  type Clock,
  type EventBody,
  FabricError,
  type InputRequest,
  type InputResponse,
  QUESTION_MS,
} from '@starloom/core';
import { type DeadlineSignal, deadlineSignal } from '@starloom/wire';
import type { ActiveCall } from '../observe/observer.ts';
import { failure } from '../reasons.ts';
import { toInput } from './attempt.ts';
import type { CallRequest } from './call-request.ts';
import type { Conversations, Reopened } from './conversations.ts';
import type { Dispatched } from './dispatch.ts';
import { assertQuestions, inputRequired, type ParkedCalls, toCancelled } from './parked-calls.ts';
import type { PreparedCall } from './prepare.ts';

/** What the caller of the moment gets, and whether its protocol asks it. */
export interface Leg {
  readonly emit: (body: EventBody, agentId: string) => Promise<void> | undefined;
  /** Can it be asked these, and does it then send its request again? */
  readonly canAsk: (inputs: readonly InputRequest[]) => boolean;
}

type RunningCallDeps = {
  readonly conversations: Conversations;
  readonly parked: ParkedCalls;
  readonly clock: Clock;
};

/** Who asks. */
export interface Asking {
  readonly agentId: string;
  readonly nodeId: string;
  readonly capability: string;
}

export class RunningCall {
  readonly prepared: PreparedCall;
  /** The leg that the call began in. */
  readonly observed: ActiveCall;
  /** What the agent goes on with. */
  readonly resume: Pick<CallContext, 'handle' | 'responses'> | undefined;
  readonly #deps: RunningCallDeps;
  /** Why the call was stopped. */
  #stopped: FabricError | undefined;
  /** Bounds the attempt that runs, or ran last. */
  #attempt: DeadlineSignal | undefined;
  #leg: Leg | undefined;
  #settle: PromiseWithResolvers<Dispatched> = Promise.withResolvers();
  #rounds = 0;
  /** What the caller could not be asked: the agent was answered `cancel`. */
  #unasked: FabricError | undefined;

  constructor(
    prepared: PreparedCall,
    observed: ActiveCall,
    conversation: Reopened | undefined,
    deps: RunningCallDeps,
  ) {
    this.prepared = prepared;
    this.observed = observed;
    this.resume = conversation ?? givenAnswers(prepared.request);
    this.#deps = deps;
  }

  /** Whether what runs at the agent is kept, so that the call can be joined again: for jobs alone. */
  get keepsRunning(): boolean {
    return this.prepared.caller.keepRunning !== undefined;
  }

  /** Stores, under an id of ours, with what the call goes on if this process ends now. */
  async keepRunning(handle: AgentHandle, by: Asking): Promise<void> {
    const { keepRunning, principal } = this.prepared.caller;
    const conversation = { principalId: principal.id, ...by, handle, questions: [] };
    const id = this.#deps.conversations.seal(conversation);
    if (id !== undefined) await keepRunning?.(id);
  }

  /** Why there is nothing more to do: the caller of the moment left, or was given up. */
  get stopped(): FabricError | undefined {
    return this.#stopped;
  }

  abort(reason: FabricError): void {
    this.#stopped ??= reason;
    this.#attempt?.abort(reason);
  }

  /** Bounds an attempt: by its time, and by the end of the call. */
  bound(ms: number): DeadlineSignal {
    this.#attempt = deadlineSignal({ ms });
    if (this.#stopped) this.#attempt.abort(this.#stopped);
    return this.#attempt;
  }

  /** Stops the call when this caller leaves; returns how to end that. */
  follow(caller: AbortSignal): () => void {
    const onGone = () => this.abort(toReason(caller.reason));
    if (caller.aborted) onGone();
    else caller.addEventListener('abort', onGone, { once: true });
    return () => caller.removeEventListener('abort', onGone);
  }

  /** Events go to the caller of the moment. */
  readonly emit = (body: EventBody, agentId: string): Promise<void> | undefined =>
    this.#leg?.emit(body, agentId);

  /** The outcome of the first leg. */
  start(leg: Leg, work: () => Promise<Dispatched>): Promise<Dispatched> {
    this.#leg = leg;
    work().then(
      (dispatched) => {
        if (this.#unasked) this.#settle.reject(this.#unasked);
        else this.#settle.resolve(dispatched);
      },
      (error: unknown) => this.#settle.reject(this.#unasked ?? error),
    );
    return this.#settle.promise;
  }

  /** The outcome of the next leg; `undefined` when the call no longer waits for an answer. */
  next(leg: Leg, answer: () => boolean): Promise<Dispatched> | undefined {
    const before = { leg: this.#leg, settle: this.#settle };
    this.#leg = leg;
    this.#settle = Promise.withResolvers();
    if (answer()) return this.#settle.promise;
    this.#leg = before.leg;
    this.#settle = before.settle;
    return undefined;
  }

  /** See `CallContext.ask`. */
  async ask(
    requests: readonly InputRequest[],
    { handle, signal }: AskOptions,
    { agentId, nodeId, capability }: Asking,
  ): Promise<InputResponse[]> {
    const { request, caller } = this.prepared;
    const { conversations, parked, clock } = this.#deps;
    const { questionMs = QUESTION_MS } = caller;
    const principalId = caller.principal.id;
    this.#rounds += 1;
    const expiresAt = clock.now() + questionMs;
    const inputs = assertQuestions(requests, this.#rounds, expiresAt);
    const questions = inputs.map(({ id, kind, schema, options }) => ({
      id,
      kind,
      ...(schema && { schema }),
      ...(options && { options }),
    }));
    const conversation = { principalId, agentId, nodeId, capability, questions };
    await this.emit({ type: 'status', data: { state: 'awaiting_input', inputs } }, agentId);
    if (handle) {
      const kept = this.#leg?.canAsk(inputs) ? {} : { input: toInput(request) };
      const id = conversations.seal({ ...conversation, handle, ...kept }, expiresAt);
      throw inputRequired(inputs, id, agentId);
    }
    const { nonce, id } = conversations.sealParked(conversation, expiresAt);
    const answer = id === undefined ? undefined : parked.add(nonce, this, principalId, questionMs);
    if (!answer) {
      this.#unasked ??= inputRequired(inputs, undefined, agentId);
      return toCancelled(inputs);
    }
    signal?.addEventListener('abort', () => parked.expire(nonce), { once: true });
    const { reject } = this.#settle;
    this.#leg = undefined;
    reject(inputRequired(inputs, id, agentId));
    return (await answer) ?? toCancelled(inputs);
  }
}

/** Answers that a caller of the agent's protocol gives before it is asked: the agent may use them. */
function givenAnswers({ inputs = [] }: CallRequest): RunningCall['resume'] {
  if (inputs.length === 0) return undefined;
  return { handle: undefined, responses: inputs.map(({ id, response }) => ({ id, ...response })) };
}

function toReason(reason: unknown): FabricError {
  if (FabricError.is(reason)) return reason;
  return failure('cancelled', {}, { cause: reason });
}
