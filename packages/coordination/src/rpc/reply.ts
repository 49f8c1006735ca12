import { FabricError } from '@starloom/core';
import { overQuota, toRpcError } from '../errors.ts';
import { failure, type RpcResponse } from './message.ts';

/** What a message is answered with. The text is made when it is asked for, so ask once. */
export interface RpcReply {
  readonly answer: RpcResponse | readonly RpcResponse[];
  toText(): string;
}

export function toReply(answer: RpcResponse): RpcReply {
  return { answer, toText: () => toText(answer) };
}

/** The answers to a batch, until they are more than may be asked for at once. */
export class BatchReply {
  readonly #most: number;
  readonly #answers: RpcResponse[] = [];
  readonly #texts: string[] = [];
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(response: RpcResponse): void {
    const text = toText(response);
    this.#answers.push(response);
    this.#texts.push(text);
    this.#bytes += Buffer.byteLength(text);
  }

  /** Aborted when there are enough: every later request is answered with its reason. */
  get enough(): AbortSignal | undefined {
    return this.#bytes < this.#most ? undefined : AbortSignal.abort(this.#spent());
  }

  finish(): RpcReply | undefined {
    if (this.#answers.length === 0) return undefined;
    return { answer: this.#answers, toText: () => `[${this.#texts.join(',')}]` };
  }

  #spent(): FabricError {
    const fix = 'it was not done: ask for it in a batch of its own, or by itself';
    return overQuota('batch_answer_bytes', this.#most, fix);
  }
}

/** Every request is answered, also one for more than a text can hold. */
function toText(response: RpcResponse): string {
  try {
    return JSON.stringify(response);
  } catch (cause) {
    return JSON.stringify(failure(response.id, toRpcError(unwritable(cause))));
  }
}

function unwritable(cause: unknown): FabricError {
  return new FabricError('INTERNAL', 'The answer cannot be written', {
    details: { reason: 'unwritable_answer', fix: 'ask for less at once' },
    cause,
  });
}
