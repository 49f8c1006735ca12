// Requests as bytes have them, for what the client of the SDK does not show.

import { KEY } from '../test-gateway.ts';
import type { Json } from './a2a-client.ts';

export interface Asked {
  readonly key?: string | undefined;
  readonly version?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

export async function request(
  url: string,
  method: string,
  body?: unknown,
  { key = KEY, version = '1.0', headers = {} }: Asked = {},
): Promise<Answered> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(key !== '' && { authorization: `Bearer ${key}` }),
      ...(version !== '' && { 'a2a-version': version }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return {
    status: response.status,
    headers: response.headers,
    body: isJson && text !== '' ? JSON.parse(text) : text,
  };
}

/** One JSON-RPC request to an agent. */
export function rpc(url: string, method: string, params: unknown, asked: Asked = {}) {
  return request(url, 'POST', { jsonrpc: '2.0', id: 7, method, params }, asked);
}

export function toMessage(text: string, more: Record<string, unknown> = {}) {
  return { message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text }], ...more } };
}

/** What `data:` lines of a stream of events have. */
export function eventsOf(text: string): Json[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)));
}

/** Of the two ways in which errors are written, what they have in common. */
export function errorOf({ body }: Answered): { details: Json[]; message: string; code: number } {
  const { code, message, data, details } = body.error;
  return { code, message, details: data ?? details };
}
