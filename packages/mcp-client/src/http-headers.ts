import {
  type JSONRPCMessage,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/client';
import { type Fields, HEADER, isObject, MANDATE, META } from '@starloom/core';

export type Headers = Record<string, string>;

export interface SessionHeaders {
  readonly sessionId: string | undefined;
  readonly protocolVersion: string | undefined;
}

/** What the headers of a message mirror of its body, so that others can route without reading it. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** Keys of `_meta` that are headers too. */
const CARRIED_KEYS = [
  ...Object.entries(META).map(([name, key]) => [key, HEADER[name as keyof typeof HEADER]] as const),
  [MANDATE.meta, MANDATE.header] as const,
];

const VISIBLE = /^[\x20-\x7e]{1,8192}$/;

/** Of a POST that carries `message`. Later lines win: no header of a manifest overrides what the protocol needs. */
export function postHeaders(
  base: Headers,
  extra: Readonly<Headers> | undefined,
  message: JSONRPCMessage,
  session: SessionHeaders,
): Headers {
  const headers = { ...base, ...extra };
  addCarried(headers, message);
  addSession(headers, session);
  if ('method' in message && 'id' in message) addMirrored(headers, message);
  headers['content-type'] = 'application/json';
  headers.accept = 'application/json, text/event-stream';
  return headers;
}

/** Of a GET that opens a stream, or a DELETE that ends the session. */
export function sessionHeaders(base: Headers, session: SessionHeaders, lastEventId = ''): Headers {
  const headers: Headers = { ...base, accept: 'text/event-stream' };
  addSession(headers, session);
  if (VISIBLE.test(lastEventId)) headers['last-event-id'] = lastEventId;
  return headers;
}

function addCarried(headers: Headers, message: JSONRPCMessage): void {
  const meta = metaOf(message);
  for (const [key, header] of CARRIED_KEYS) {
    const value = meta[key];
    if (typeof value === 'string' && VISIBLE.test(value)) headers[header] = value;
  }
}

function addSession(headers: Headers, { sessionId, protocolVersion }: SessionHeaders): void {
  if (sessionId !== undefined) headers['mcp-session-id'] = sessionId;
  if (protocolVersion !== undefined) headers['mcp-protocol-version'] = protocolVersion;
}

function addMirrored(headers: Headers, request: JSONRPCRequest): void {
  const version = metaOf(request)[PROTOCOL_VERSION_META_KEY];
  if (typeof version !== 'string') return;
  headers['mcp-protocol-version'] = version;
  headers['mcp-method'] = toHeaderValue(request.method);
  const field = Object.hasOwn(NAMED_BY, request.method) ? NAMED_BY[request.method] : undefined;
  const params: unknown = request.params;
  const name = field !== undefined && isObject(params) ? params[field] : undefined;
  if (typeof name === 'string') headers['mcp-name'] = toHeaderValue(name);
}

/** Text that no header can carry as it is travels as base64 between markers. */
export function toHeaderValue(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  const looksEncoded = text.startsWith('=?base64?') && text.endsWith('?=');
  return isPlain && !looksEncoded ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

/** The `_meta` of a message's params, or an empty one. */
export function metaOf(message: JSONRPCMessage): Fields {
  const params: unknown = 'method' in message ? message.params : undefined;
  return isObject(params) && isObject(params._meta) ? params._meta : {};
}
