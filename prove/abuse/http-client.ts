// Requests to the gateway, as ordinary clients and attackers send them.

import { Agent, request } from 'node:http';
import { OLDER_HEADERS } from '../../bench/mcp-call.ts';

export interface PostOptions {
  readonly path?: string;
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  readonly timeoutMs?: number;
  readonly agent?: Agent;
}

export interface Answer {
  /** 0 when the connection ended without an answer. */
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

const NO_ANSWER: Answer = { status: 0, text: '', headers: {} };

export function openAgent(maxSockets: number): Agent {
  return new Agent({ keepAlive: true, maxSockets });
}

/** Never rejects: what got no answer in time has the status 0. */
export function post(base: string, options: PostOptions): Promise<Answer> {
  const { path = '/mcp', key, body, agent, timeoutMs = 30_000 } = options;
  return new Promise((resolve) => {
    const headers = {
      ...OLDER_HEADERS,
      'content-length': String(Buffer.byteLength(body)),
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...options.headers,
    };
    const sending = request(new URL(path, base), { method: 'POST', headers, agent });
    const timer = setTimeout(() => sending.destroy(), timeoutMs);
    const done = (answer: Answer) => {
      clearTimeout(timer);
      resolve(answer);
    };
    sending.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('close', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const { statusCode = 0 } = response;
        done({ status: response.complete ? statusCode : 0, text, headers: response.headers });
      });
    });
    // A response that came before the whole body was taken is kept; anything else is no answer.
    sending.once('error', () => setImmediate(() => done(NO_ANSWER)));
    sending.end(body);
  });
}

/** The body of a request in JSON-RPC. */
export function toBody(method: string, params: object, id: number | string = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

export function toolCall(name: string, args: object, meta?: object): string {
  return toBody('tools/call', { name, arguments: args, ...(meta && { _meta: meta }) });
}

export interface Called {
  readonly ok: boolean;
  readonly error?: { readonly code: string; readonly details?: Record<string, unknown> };
  readonly result?: { readonly answer?: string; readonly data?: unknown };
}

/** What `fabric.call` answered, or how the request was refused. */
export function readCalled({ text }: Answer): Called | undefined {
  try {
    const { result, error } = JSON.parse(text);
    return result?.structuredContent ?? error?.data;
  } catch {
    return undefined;
  }
}

export interface Said {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A request to the coordination plane. */
export async function ask(
  base: string,
  key: string,
  method: string,
  params: object,
  agent?: Agent,
): Promise<Said> {
  // With `text/event-stream` accepted, the answer would be a stream.
  const headers = { accept: 'application/json' };
  const about = { path: '/rpc', key, headers, ...(agent && { agent }) };
  const { text } = await post(base, { ...about, body: toBody(method, params) });
  try {
    return JSON.parse(text) as Said;
  } catch {
    return {};
  }
}
