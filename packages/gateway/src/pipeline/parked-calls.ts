// Calls whose attempt waits in this process for an answer. Bounded in number, for each principal and
// in all; one that is not answered in time is let go with no answer.

import type { FabricError, InputResponse } from '@starloom/core';
import type { RunningCall } from './running-call.ts';

interface ParkedCall {
  readonly call: RunningCall;
  readonly principalId: string;
  readonly answer: (responses: InputResponse[] | undefined) => void;
  readonly timer: NodeJS.Timeout;
}

const MAX_IN_ALL = 1_024;
const MAX_PER_PRINCIPAL = 128;

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
