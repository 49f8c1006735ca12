// Clients of the fleet, as people's programs are: they know the address of the balancer alone, try again
// what may be tried again, and write down what became of everything.

import { setTimeout as delay } from 'node:timers/promises';
import {
  INITIALIZED_BODY,
  initializeBody,
  OLDER_HEADERS,
  PROTOCOL_VERSION,
} from '../../bench/mcp-call.ts';
import { AGENT_ID, KEY } from './world.ts';

/** How long a client goes on trying. */
const PATIENCE_MS = 60_000;
const ANSWER_MS = 20_000;
const PAUSE_MS = 100;

export interface Answer {
  readonly isError: boolean;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Speaks one revision of MCP over HTTP. */
export interface Client {
  readonly revision: string;
  /** Rejects when the connection broke, or what answered was no gateway. */
  call(tool: string, args: object): Promise<Answer>;
}

/** The current revision: every request is whole by itself. */
export function currentClient(url: string): Client {
  return {
    revision: PROTOCOL_VERSION,
    async call(name, args) {
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': PROTOCOL_VERSION,
        'io.modelcontextprotocol/clientInfo': { name: 'prove-fleet', version: '0' },
        'io.modelcontextprotocol/clientCapabilities': {},
      };
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': PROTOCOL_VERSION,
        'mcp-method': 'tools/call',
        'mcp-name': name,
      };
      const { body } = await post(url, headers, toCall({ name, arguments: args, _meta }));
      return toAnswer(body);
    },
  };
}

/** An older revision: one session for good. */
export async function olderClient(url: string): Promise<Client> {
  const first = await post(url, OLDER_HEADERS, initializeBody());
  const session = first.headers.get('mcp-session-id');
  if (session === null) throw new Error('an older client got no session');
  const headers = { ...OLDER_HEADERS, 'mcp-session-id': session };
  await post(url, headers, INITIALIZED_BODY);
  return {
    revision: OLDER_HEADERS['mcp-protocol-version'],
    async call(name, args) {
      const { body } = await post(url, headers, toCall({ name, arguments: args }));
      return toAnswer(body);
    },
  };
}

export class SessionLost extends Error {}

let lastId = 1;

/** With an id of its own: several requests of a session are open at a time. */
function toCall(params: object): string {
  lastId += 1;
  return JSON.stringify({ jsonrpc: '2.0', id: lastId, method: 'tools/call', params });
}

async function post(url: string, headers: Readonly<Record<string, string>>, body: string) {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${KEY}` },
    body,
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const text = await response.text();
  if (response.status === 404 && 'mcp-session-id' in headers) throw new SessionLost(text);
  if (response.status >= 500) throw new Error(`HTTP ${response.status}`);
  return { headers: response.headers, body: text };
}

function toAnswer(text: string): Answer {
  const json = text.startsWith('{') ? text : text.split('\n').findLast(isLastMessage)?.slice(6);
  const { result, error } = JSON.parse(json ?? '{}');
  if (error) return { isError: true, payload: { error: { ...error.data, ...error } } };
  if (!result) throw new Error(`no answer: ${text.slice(0, 200)}`);
  const [content] = result.content ?? [];
  const payload = result.structuredContent ?? JSON.parse(content?.text ?? '{}');
  return { isError: result.isError === true, payload };
}

function isLastMessage(line: string): boolean {
  return line.startsWith('data: ') && (line.includes('"result"') || line.includes('"error"'));
}

/** Tries until it is done: what `once` returns, or why it never came to that. */
export async function tryUntil<T>(once: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  let last: unknown;
  while (performance.now() < deadline) {
    try {
      const value = await once();
      if (value !== undefined) return value;
    } catch (error) {
      if (error instanceof SessionLost) throw error;
      last = error;
    }
    await delay(PAUSE_MS);
  }
  throw new Error(`not done in ${PATIENCE_MS / 1_000} s: ${last}`);
}

/** A call that may run twice, until it has its answer. */
export function read(client: Client, id: string, onFailure: (why: string) => void): Promise<true> {
  return tryUntil(async () => {
    const { isError, payload } = await client
      .call(`${AGENT_ID}.read`, { id })
      .catch((error: unknown) => {
        onFailure(String(error));
        throw error;
      });
    if (!isError) return true;
    onFailure(codeOf(payload));
    return undefined;
  });
}

/** Stores a job under a key of its own, however often that takes; its id. */
export function submit(client: Client, id: string, ms: number): Promise<string> {
  return tryUntil(async () => {
    const { isError, payload } = await client.call('fabric.call', {
      agent_id: AGENT_ID,
      capability: 'act',
      arguments: { id, ms },
      async: true,
      idempotency_key: id,
    });
    return isError ? undefined : String(payload.job_id);
  });
}

/** The last state of a job. */
export function waitFor(client: Client, jobId: string): Promise<JobEnd> {
  return tryUntil(async () => {
    const { isError, payload } = await client.call('fabric.job.status', { job_id: jobId });
    const job = (payload.job ?? payload) as JobEnd;
    if (isError || !['succeeded', 'failed', 'cancelled'].includes(job.state)) return undefined;
    return job;
  });
}

export interface JobEnd {
  readonly state: string;
  readonly error?: { readonly code?: string; readonly details?: Readonly<Record<string, unknown>> };
}

function codeOf({ error }: Answer['payload']): string {
  const { code, details } = Object(error);
  return details?.reason === undefined ? String(code) : `${code} ${details.reason}`;
}
