// A call that is being served, apart from the caller that waits for it at the moment. When the agent
// asks and the attempt has to wait in this process, the caller's leg ends with INPUT_REQUIRED; the
// caller that brings the answer starts the next leg, and the call goes on where it was.

import {
  type AskOptions,
  type Clock,
  type Envelope,
  type EventBody,
  FabricError,
  type InputRequest,
  type InputResponse,
  inputRequestSchema,
  QUESTION_MS,
} from '@starloom/core';
import type { Conversations } from './conversations.ts';
import type { Dispatched } from './dispatch.ts';
import type { ParkedCalls } from './parked-calls.ts';

/** What the caller of the moment gets, and whether its protocol asks it. */
export interface Leg {
  readonly emit: (body: EventBody, agentId: string) => Promise<void> | undefined;
  /** Can it be asked these, and does it then send its request again? */
  readonly canAsk: (inputs: readonly InputRequest[]) => boolean;
}

export interface RunningCallOptions {
  readonly principalId: string;
  /** What the call was given; kept for callers that do not send it again. */
  readonly input: Envelope['input'] | undefined;
  readonly conversations: Conversations;
  readonly parked: ParkedCalls;
  readonly clock: Clock;
  readonly questionMs?: number | undefined;
}

/** Who asks. */
export interface Asking {
  readonly agentId: string;
  readonly capability: string;
}

const MAX_AT_ONCE = 32;
const MAX_ROUNDS = 100;
const MAX_QUESTION_LENGTH = 64 * 1024;

export class RunningCall {
  readonly #options: RunningCallOptions;
  readonly #stop = new AbortController();
  #leg: Leg | undefined;
  #settle: PromiseWithResolvers<Dispatched> = Promise.withResolvers();
  #rounds = 0;
  /** What the caller could not be asked: the agent was answered `cancel`. */
  #unasked: FabricError | undefined;

  constructor(options: RunningCallOptions) {
    this.#options = options;
  }

  /** Aborts when the caller of the moment leaves, or is given up. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  abort(reason: FabricError): void {
    this.#stop.abort(reason);
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
    { agentId, capability }: Asking,
  ): Promise<InputResponse[]> {
    const { principalId, input, conversations, parked, clock } = this.#options;
    const { questionMs = QUESTION_MS } = this.#options;
    this.#rounds += 1;
    const expiresAt = clock.now() + questionMs;
    const inputs = checked(requests, this.#rounds, expiresAt);
    const questions = inputs.map(({ id, kind, schema, options }) => ({
      id,
      kind,
      ...(schema && { schema }),
      ...(options && { options }),
    }));
    const conversation = { principalId, agentId, capability, questions };
    await this.emit({ type: 'status', data: { state: 'awaiting_input', inputs } }, agentId);
    if (handle) {
      const kept = this.#leg?.canAsk(inputs) ? {} : { input };
      const id = conversations.seal({ ...conversation, handle, ...kept }, expiresAt);
      throw inputRequired(inputs, id, agentId);
    }
    const { nonce, id } = conversations.sealParked(conversation, expiresAt);
    const answer = id === undefined ? undefined : parked.add(nonce, this, principalId, questionMs);
    if (!answer) {
      this.#unasked ??= inputRequired(inputs, undefined, agentId);
      return cancelled(inputs);
    }
    signal?.addEventListener('abort', () => parked.expire(nonce), { once: true });
    const { reject } = this.#settle;
    this.#leg = undefined;
    reject(inputRequired(inputs, id, agentId));
    return (await answer) ?? cancelled(inputs);
  }
}

function toReason(reason: unknown): FabricError {
  if (FabricError.is(reason)) return reason;
  return new FabricError('CANCELLED', 'The caller cancelled the call', { cause: reason });
}

function cancelled(inputs: readonly InputRequest[]): InputResponse[] {
  return inputs.map(({ id }) => ({ id, action: 'cancel' }));
}

/** A question is foreign: as many as a person can answer, each of a size that can be shown. */
function checked(
  requests: readonly InputRequest[],
  round: number,
  expiresAt: number,
): InputRequest[] {
  const bad = (problem: string) =>
    new FabricError(
      'UPSTREAM_ERROR',
      `The agent asked in a way that cannot be passed on: ${problem}`,
      {
        details: { reason: 'bad_question', problem },
      },
    );
  if (round > MAX_ROUNDS) throw bad(`more than ${MAX_ROUNDS} times in one call`);
  if (requests.length === 0) throw bad('no question');
  if (requests.length > MAX_AT_ONCE) throw bad(`more than ${MAX_AT_ONCE} questions at once`);
  if (JSON.stringify(requests).length > MAX_QUESTION_LENGTH) throw bad('too long');
  const ids = new Set(requests.map(({ id }) => id));
  if (ids.size < requests.length) throw bad('two questions have one id');
  const expires_at = new Date(expiresAt).toISOString();
  return requests.map((request) => {
    const parsed = inputRequestSchema.safeParse({ ...request, expires_at });
    if (parsed.success) return parsed.data;
    throw bad('malformed');
  });
}

export function inputRequired(
  inputs: readonly InputRequest[],
  conversationId: string | undefined,
  agentId: string,
): FabricError {
  const fix =
    conversationId === undefined
      ? 'call through a client that can be asked'
      : 'call again with conversation_id and inputs: [{id, response: {action, content}}]';
  return new FabricError('INPUT_REQUIRED', 'The agent asks before it goes on', {
    details: {
      reason: 'input_required',
      agent_id: agentId,
      inputs,
      ...(conversationId !== undefined && { conversation_id: conversationId }),
      fix,
    },
  });
}
