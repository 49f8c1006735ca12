// JSON-RPC as far as routing needs it: what is inside params and results belongs to the reader
// and passes through as it came.

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
} from '@modelcontextprotocol/client';
import { FabricError, type Fields, isObject } from '@starloom/core';
import { assertJsonLimits } from '@starloom/wire';

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
  throw new FabricError('UPSTREAM_ERROR', 'The agent sent JSON that is not JSON-RPC', {
    details: { reason: 'not_json_rpc', fix: 'point the manifest at an MCP server' },
  });
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

/** The `_meta` of a message's params, or an empty one. */
export function metaOf(message: JSONRPCMessage): Fields {
  const params: unknown = 'method' in message ? message.params : undefined;
  return isObject(params) && isObject(params._meta) ? params._meta : {};
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
    throw new FabricError('UPSTREAM_ERROR', 'The agent sent something that is not JSON', {
      details: { reason: 'not_json', fix: 'point the manifest at an MCP server' },
      cause,
    });
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
