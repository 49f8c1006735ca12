// What goes over a connection to an agent: the transport that carries it, and the JSON-RPC messages as far as
// routing needs them. What is inside params and results belongs to the reader and passes through as it came.

import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  type Transport,
} from '@modelcontextprotocol/client';
import {
  createTrace,
  type ErrorDetails,
  type FabricError,
  type Fields,
  fromMeta,
  isObject,
  META,
  toMeta,
} from '@starloom/core';
import { Exchange } from './exchange.ts';
import { metaOf } from './http-headers.ts';

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

/** An exchange that failed before anything was sent. */
export function unsentExchange(id: number, error: FabricError): Exchange {
  const exchange = new Exchange(id, { pause: nothing, resume: nothing, release: nothing });
  exchange.fail(error.with({ sent: false }));
  return exchange;
}

function nothing(): void {}

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
