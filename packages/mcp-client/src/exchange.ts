// One request of ours and everything that comes back for it, in order: notifications and questions,
// then exactly one outcome. The caller pulls; while it does not, the transport holds back.

import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResultResponse,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  type Transport,
} from '@modelcontextprotocol/client';
import {
  createTrace,
  type ErrorDetails,
  FabricError,
  type Fields,
  fromMeta,
  isObject,
  META,
  toMeta,
} from '@starloom/core';
import { assertJsonLimits } from '@starloom/wire';
import { rpcFailure } from './failures.ts';
import { metaOf } from './http-headers.ts';
import { failure } from './reasons.ts';

/** A notification or question that comes before the result. */
export type Said = JSONRPCNotification | JSONRPCRequest;

/** The transport's end of an exchange. */
export interface ExchangeLine {
  /** Brings no more notifications until `resume`, as far as the wire allows. */
  pause(): void;
  resume(): void;
  /** The exchange has its outcome; `cancelled` when the agent must be asked to stop. */
  release(cancelled: FabricError | undefined): void;
}

/** An exchange that failed before anything was sent. */
export function unsentExchange(id: number, error: FabricError): Exchange {
  const exchange = new Exchange(id, { pause: nothing, resume: nothing, release: nothing });
  exchange.fail(error.with({ sent: false }));
  return exchange;
}

function nothing(): void {}

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

/** Ids of our own requests start here; those of the SDK's client are small numbers or strings. */
export const FIRST_EXCHANGE_ID = 1_000_000;

/**
 * A transport that carries our own requests beside those of the SDK's client. The client makes and
 * keeps the connection; calls go past it, so that results and notifications arrive as they were
 * sent, in order, and with back-pressure.
 */
export interface AgentTransport extends Transport {
  readonly kind: 'http' | 'stdio';
  /** Why it closed; `undefined` while it is open. */
  readonly failure: FabricError | undefined;
  /** Whether the agent can send messages that answer no request. */
  readonly hasPush: boolean;
  /** Whether a question may belong to a cancelled call. */
  readonly isDoubtful: boolean;
  readonly openExchanges: number;
  /** What the agent wrote outside of the protocol, for `details.upstream`. */
  printed?(): ErrorDetails;
  /** Called when the last open exchange is over. */
  onidle?: (() => void) | undefined;
  /** Called with a question that may belong to any of several calls, or to none. */
  onstray?: ((question: JSONRPCRequest) => void) | undefined;
  /** Never throws: what goes wrong ends the exchange. */
  exchange(request: NumberedRequest, options?: ExchangeOptions): Exchange;
  /** Exchanges still open end with `failure`; by default that the connection was closed. */
  close(failure?: FabricError): Promise<void>;
}

export interface ExchangeOptions {
  /** For HTTP only. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** On whose behalf; an unknown principal equals no other. */
  readonly principal?: string | undefined;
}

export interface NumberedRequest extends JSONRPCRequest {
  readonly id: number;
}

// JSON-RPC as far as routing needs it: what is inside params and results belongs to the reader
// and passes through as it came.

export type RpcResponse = JSONRPCResultResponse | JSONRPCErrorResponse;

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Keys of `_meta` that belong to the 2026-07-28 revision and mean nothing to older agents. */
export const RESERVED_META_KEYS: ReadonlySet<string> = new Set([
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
]);

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

export function isNotification(message: JSONRPCMessage): message is JSONRPCNotification {
  return 'method' in message && !('id' in message);
}

/** What an older agent may ask in the middle of a call. */
const QUESTIONS: ReadonlySet<string> = new Set([
  'elicitation/create',
  'sampling/createMessage',
  'roots/list',
]);

export function isQuestion(message: JSONRPCMessage): message is JSONRPCRequest {
  return 'method' in message && 'id' in message && QUESTIONS.has(message.method);
}

/** Does the message say of itself that it is of the 2026-07-28 revision or later? */
export function isModern(message: JSONRPCMessage): boolean {
  return typeof metaOf(message)[PROTOCOL_VERSION_META_KEY] === 'string';
}

export function cancellationOf(request: JSONRPCRequest, reason: string): JSONRPCNotification {
  const reserved = Object.entries(metaOf(request)).filter(([key]) => RESERVED_META_KEYS.has(key));
  const params = { requestId: request.id, reason };
  const _meta = Object.fromEntries(reserved);
  return {
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: reserved.length === 0 ? params : { ...params, _meta },
  };
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
  if (typeof value.method === 'string') return isParams(value.params);
  if (isObject(value.result)) return isId(value.id);
  const error = value.error;
  return isObject(error) && Number.isInteger(error.code) && typeof error.message === 'string';
}

function isParams(value: unknown): boolean {
  return value === undefined || isObject(value);
}

function isId(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number';
}

export type RpcAnswer = { readonly result: Fields } | { readonly error: RpcError };

/** What clients answer with when a person rejects sampling. */
export const REJECTION: RpcAnswer = { error: { code: -1, message: 'The request was declined' } };

/** For a question that no caller can answer. */
export function cancelAnswer(method: string): RpcAnswer {
  return method === 'elicitation/create' ? { result: { action: 'cancel' } } : REJECTION;
}

/**
 * Every request says which trace it belongs to. A request that serves no call, such as `tools/list`,
 * begins a trace of its own.
 */
export function withTrace(message: JSONRPCMessage): JSONRPCMessage {
  if (!('method' in message) || !('id' in message)) return message;
  const { params = {} } = message;
  const meta = isObject(params._meta) ? params._meta : {};
  if (META.trace in meta) return message;
  const { named, traceId, hop } = fromMeta(meta);
  if (named) return message;
  return {
    ...message,
    params: { ...params, _meta: { ...toMeta(createTrace(traceId), hop), ...meta } },
  };
}
