// The `fetch` that the SDK is given. It dials only origins that the manifest trusts, through the
// address guard, follows no redirect, and hands over only what was checked: bounded in bytes, UTF-8,
// JSON within limits. What the status alone says becomes a failure of ours here, since the SDK keeps
// it in a text.

import { FabricError, isObject, statusFailure, toFields, tryParseJson } from '@starloom/core';
import {
  type Excerpt,
  type GuardedHttp,
  type HttpAnswer,
  type HttpHead,
  jsonExcess,
  parseUpstreamJson,
  SseParser,
  UPSTREAM_JSON_LIMITS,
} from '@starloom/wire';
import { failure } from '../reasons.ts';

interface AgentFetchOptions {
  readonly http: GuardedHttp;
  readonly origins: ReadonlySet<string>;
  /** Of every request; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly maxResultBytes: number;
  readonly maxStreamBytes: number;
  readonly excerpt: Excerpt;
}

/** What the SDK passes: a text body, headers as a plain object. */
interface FetchInit {
  readonly method?: string;
  readonly headers?: unknown;
  readonly body?: unknown;
  readonly signal?: AbortSignal | null;
}

export type AgentFetch = (input: string | URL, init?: FetchInit) => Promise<Response>;

const ERROR_BYTES = 65_536;
/** Failures that the status identifies, whatever the body says. */
const TOLD_BY_STATUS: ReadonlySet<number> = new Set([401, 403, 407, 408, 429]);

export function createAgentFetch(options: AgentFetchOptions): AgentFetch {
  return async (input, init = {}) => {
    const url = new URL(input);
    if (!options.origins.has(url.origin))
      throw failure('card_points_elsewhere', { origin: url.origin });
    const answer = send(url, init, options);
    try {
      const head = await answer.head;
      if (head.status < 300 && isStream(head)) {
        return toResponse(head, toWebStream(events(answer, options)));
      }
      const text = await readText(answer, head, options);
      return toResponse(head, head.status === 204 ? null : text);
    } catch (error) {
      answer.abort(FabricError.from(error));
      throw error;
    }
  };
}

function send(url: URL, init: FetchInit, { http, headers }: AgentFetchOptions): HttpAnswer {
  const { method, body, signal } = init;
  const given = Object.entries(toFields(init.headers)).map(([name, value]) => {
    return [name.toLowerCase(), String(value)] as const;
  });
  const request = {
    method,
    headers: { ...headers, ...Object.fromEntries(given) },
    body: typeof body === 'string' ? body : null,
  };
  return http.send(url, request, signal ?? undefined);
}

/** The whole body, checked; a status that is no success is thrown unless its body is of A2A. */
async function readText(
  answer: HttpAnswer,
  { status, headers }: HttpHead,
  { maxResultBytes, excerpt }: AgentFetchOptions,
): Promise<string> {
  if (status < 300) {
    const text = await answer.text(maxResultBytes);
    if (status !== 204) assertAnswer(text);
    return text;
  }
  const { bytes } = await answer.read(ERROR_BYTES);
  const text = bytes.toString('utf8');
  const retryAfter = headers['retry-after'];
  const refused = statusFailure({ status, text: excerpt(text), retryAfter });
  if (status < 400 || TOLD_BY_STATUS.has(status) || !holdsError(text)) throw refused;
  return text;
}

/** The events of a stream, each checked before the SDK sees it. */
async function* events(
  answer: HttpAnswer,
  { maxResultBytes, maxStreamBytes }: AgentFetchOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const parser = new SseParser({ maxEventBytes: maxResultBytes });
  try {
    for await (const chunk of answer.body(maxStreamBytes)) {
      for (const { event, data } of parser.push(chunk)) {
        const type = isBareError(assertAnswer(data)) ? 'error' : event.replace(/\s/g, '');
        const lines = data.split('\n').map((line) => `data: ${line}\n`);
        yield Buffer.from(`event: ${type}\n${lines.join('')}\n`);
      }
    }
  } finally {
    answer.abort(LEFT);
  }
}

function toWebStream(source: AsyncGenerator<Uint8Array, void, undefined>): ReadableStream {
  return new ReadableStream({
    async pull(controller) {
      const next = await source.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    // A read that hangs is ended by the signal of the request.
    cancel: () => void source.return().catch(() => {}),
  });
}

function toResponse({ status, headers }: HttpHead, body: string | ReadableStream | null) {
  const type = headers['content-type'] ?? 'application/json';
  return new Response(body, { status, headers: { 'content-type': type } });
}

function isStream({ headers }: HttpHead): boolean {
  return (headers['content-type'] ?? '').toLowerCase().startsWith('text/event-stream');
}

/** JSON in which every entry of a list that the SDK walks is an object. */
function assertAnswer(text: string): unknown {
  const answer = parseUpstreamJson(text);
  if (!hasHole(answer)) return answer;
  throw failure('bad_answer');
}

/** Over REST some servers stream an error as if it were an item; the SDK would pass over it. */
function isBareError(answer: unknown): boolean {
  const { error, jsonrpc } = toFields(answer);
  return jsonrpc === undefined && typeof error === 'object' && error !== null;
}

const WALKED = new Set(['parts', 'artifacts', 'history', 'tasks', 'skills']);

function hasHole(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, inner]) => {
    if (name === 'data' || name === 'metadata') return false;
    if (!WALKED.has(name) || !Array.isArray(inner)) return hasHole(inner);
    return inner.some((item) => typeof item !== 'object' || item === null || hasHole(item));
  });
}

/** Whether the body of a failure says more than its status. */
function holdsError(text: string): boolean {
  if (jsonExcess(text, UPSTREAM_JSON_LIMITS)) return false;
  const { error, code, message } = toFields(tryParseJson(text));
  // REST of 0.3 has no envelope.
  return isObject(error) || (typeof code === 'number' && typeof message === 'string');
}

const LEFT = new FabricError('CANCELLED', 'The answer is not read any more');
