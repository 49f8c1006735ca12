// One request of ours and everything that comes back for it, in order: notifications and questions,
// then exactly one outcome. The caller pulls; while it does not, the transport holds back.

import type {
  JSONRPCErrorResponse,
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
} from '@modelcontextprotocol/client';
import { FabricError, type Fields, isObject } from '@starloom/core';
import { assertJsonLimits } from '@starloom/wire';
import { rpcFailure } from './failures.ts';
import { failure } from './reasons.ts';

/** A notification or question that comes before the result. */
export type Said = JSONRPCNotification | JSONRPCRequest;

export type RpcResponse = JSONRPCResultResponse | JSONRPCErrorResponse;

/** The transport's end of an exchange. */
export interface ExchangeLine {
  /** Brings no more notifications until `resume`, as far as the wire allows. */
  pause(): void;
  resume(): void;
  /** The exchange has its outcome; `cancelled` when the agent must be asked to stop. */
  release(cancelled: FabricError | undefined): void;
}

const HELD_NOTIFICATIONS = 64;
const HELD_BYTES = 262_144;

export class Exchange {
  readonly id: number;
  readonly #line: ExchangeLine;
  readonly #held: { said: Said; bytes: number }[] = [];
  #heldBytes = 0;
  #paused = false;
  #outcome: RpcResponse | FabricError | undefined;
  #wake: (() => void) | undefined;
  #signal: AbortSignal | undefined;
  readonly #onAbort = () => this.cancel(FabricError.from(this.#signal?.reason));

  constructor(id: number, line: ExchangeLine) {
    this.id = id;
    this.#line = line;
  }

  /** Cancels when the signal aborts, with its reason. */
  follow(signal: AbortSignal): void {
    this.#signal = signal;
    if (signal.aborted) this.#onAbort();
    else if (!this.isOver) signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  get isOver(): boolean {
    return this.#outcome !== undefined;
  }

  /** Why there will be no result, once that is known. */
  get failure(): FabricError | undefined {
    const outcome = this.#outcome;
    if (outcome === undefined) return undefined;
    if ('error' in outcome) return rpcFailure(outcome.error);
    return 'result' in outcome || !FabricError.is(outcome) ? undefined : outcome;
  }

  /** Resolves when there is something to read. */
  ready(): Promise<void> {
    if (this.#held.length > 0 || this.isOver) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Whether the outcome is there and nothing is left to read before it. */
  get isRead(): boolean {
    return this.isOver && this.#held.length === 0;
  }

  /** The next notification or question, or `undefined` when the outcome is there. */
  async next(): Promise<Said | undefined> {
    if (this.#held.length === 0) await this.ready();
    const first = this.#held.shift();
    if (first === undefined) return undefined;
    this.#heldBytes -= first.bytes;
    if (this.#paused && this.#held.length === 0) {
      this.#paused = false;
      this.#line.resume();
    }
    return first.said;
  }

  /** The result as the agent sent it; throws its error, or why there is none. */
  result(): Fields {
    const { failure } = this;
    if (failure) throw failure;
    const outcome = this.#outcome;
    if (outcome && 'result' in outcome && isObject(outcome.result)) return outcome.result;
    throw new FabricError('INTERNAL', 'The result was read before the exchange was over');
  }

  push(said: Said, bytes: number): void {
    if (this.isOver) return;
    this.#held.push({ said, bytes });
    this.#heldBytes += bytes;
    if (!this.#paused && this.#isFull()) {
      this.#paused = true;
      this.#line.pause();
    }
    this.#awake();
  }

  settle(response: RpcResponse): void {
    this.#end(response, undefined);
  }

  fail(error: FabricError): void {
    this.#end(error, undefined);
  }

  /** Ends the exchange at once, dropping what was not read; the agent is notified. */
  cancel(reason: FabricError): void {
    if (this.isOver) return;
    this.#held.length = 0;
    this.#end(reason, reason);
  }

  /** Cancels the exchange unless it is over: the caller does not read on. */
  abandon(): void {
    if (this.isOver) return;
    this.cancel(new FabricError('CANCELLED', 'The caller stopped reading the answer'));
  }

  #end(outcome: RpcResponse | FabricError, cancelled: FabricError | undefined): void {
    if (this.isOver) return;
    this.#outcome = outcome;
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#line.release(cancelled);
    this.#awake();
  }

  #isFull(): boolean {
    return this.#held.length >= HELD_NOTIFICATIONS || this.#heldBytes >= HELD_BYTES;
  }

  #awake(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

/** One message, or those of a batch; anything else is the agent's fault. */
export function parseMessages(text: string, isCounted = false): JSONRPCMessage[] {
  if (!isCounted) assertJsonLimits(text);
  const value = parseJson(text);
  const messages = Array.isArray(value) ? value : [value];
  if (messages.every(isMessage)) return messages;
  throw failure('not_json_rpc');
}

export function isResponse(message: JSONRPCMessage): message is RpcResponse {
  return !('method' in message);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw failure('not_json', {}, { cause });
  }
}

function isMessage(value: unknown): value is JSONRPCMessage {
  if (!isObject(value)) return false;
  const { method, params } = value;
  if (typeof method === 'string') return params === undefined || isObject(params);
  if (isObject(value.result)) return isId(value.id);
  const error = value.error;
  return isObject(error) && Number.isInteger(error.code) && typeof error.message === 'string';
}

function isId(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number';
}
