// Calls that wait for an answer, and what an agent may ask meanwhile.

import {
  type FabricError,
  type InputRequest,
  type InputResponse,
  inputRequestSchema,
} from '@starloom/core';
import { failure } from '../reasons.ts';
import type { RunningCall } from './running-call.ts';

interface ParkedCall {
  readonly call: RunningCall;
  readonly principalId: string;
  readonly answer: (responses: InputResponse[] | undefined) => void;
  readonly timer: NodeJS.Timeout;
}

const MAX_IN_ALL = 1_024;
const MAX_PER_PRINCIPAL = 128;

/**
 * Calls whose attempt waits in this process. Bounded in number, for each principal and in all; one that
 * is not answered in time is let go with no answer.
 */
export class ParkedCalls {
  readonly #calls = new Map<string, ParkedCall>();

  /** Resolves with the answer, or `undefined` when none came; `undefined` when there is no room. */
  add(
    nonce: string,
    call: RunningCall,
    principalId: string,
    ms: number,
  ): Promise<InputResponse[] | undefined> | undefined {
    if (this.#calls.size >= MAX_IN_ALL) return undefined;
    const own = this.#calls.values().filter((parked) => parked.principalId === principalId);
    if ([...own].length >= MAX_PER_PRINCIPAL) return undefined;
    const { promise, resolve } = Promise.withResolvers<InputResponse[] | undefined>();
    const timer = setTimeout(() => this.expire(nonce), ms).unref();
    this.#calls.set(nonce, { call, principalId, answer: resolve, timer });
    return promise;
  }

  get(nonce: string): RunningCall | undefined {
    return this.#calls.get(nonce)?.call;
  }

  /** False when the call no longer waits. */
  answer(nonce: string, responses: InputResponse[]): boolean {
    return this.#release(nonce, responses);
  }

  /** Lets the call go on without an answer. */
  expire(nonce: string): void {
    this.#release(nonce, undefined);
  }

  /** Ends the call instead of answering it; false when it no longer waits. */
  cancel(nonce: string, reason: FabricError): boolean {
    this.get(nonce)?.abort(reason);
    return this.#release(nonce, undefined);
  }

  close(): void {
    for (const nonce of this.#calls.keys()) this.expire(nonce);
  }

  #release(nonce: string, responses: InputResponse[] | undefined): boolean {
    const parked = this.#calls.get(nonce);
    if (!parked) return false;
    this.#calls.delete(nonce);
    clearTimeout(parked.timer);
    parked.answer(responses);
    return true;
  }
}

const MAX_AT_ONCE = 32;
const MAX_ROUNDS = 100;
const MAX_QUESTION_LENGTH = 64 * 1024;

export function toCancelled(inputs: readonly InputRequest[]): InputResponse[] {
  return inputs.map(({ id }) => ({ id, action: 'cancel' }));
}

export function inputRequired(
  inputs: readonly InputRequest[],
  conversation_id: string | undefined,
  agent_id: string,
): FabricError {
  const fix =
    conversation_id === undefined
      ? 'call through a client that can be asked'
      : 'call again with conversation_id and inputs: [{id, response: {action, content}}]';
  return failure('input_required', { agent_id, inputs, conversation_id, fix });
}

/** A question is foreign: as many as a person can answer, each of a size that can be shown. */
export function assertQuestions(
  requests: readonly InputRequest[],
  round: number,
  expiresAt: number,
): InputRequest[] {
  const bad = (problem: string) => failure('bad_question', { problem });
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
