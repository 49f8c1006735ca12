// The one way out over HTTP: connections through the address guard, no redirect followed, answers read
// no faster than they are wanted. How long an answer may take is the caller's to say, by its signal.

import type { Agent, Dispatcher } from 'undici';
import {
  type AddressGuard,
  createAddressGuard,
  type GuardedAgentOptions,
} from './address-guard.ts';
import { HttpAnswer, type HttpHead, type ReadBody } from './http-answer.ts';
import { assertJsonLimits, UPSTREAM_JSON_LIMITS } from './json-limits.ts';
import { failure } from './reasons.ts';

interface OutgoingRequest {
  readonly method?: string | undefined;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | null | undefined;
}

interface GuardedHttpOptions extends GuardedAgentOptions {
  readonly guard: AddressGuard;
}

export class GuardedHttp {
  readonly #guard: AddressGuard;
  readonly #options: GuardedAgentOptions;
  #opened: Agent | undefined;

  constructor({ guard, ...options }: GuardedHttpOptions) {
    this.#guard = guard;
    this.#options = { allowH2: false, headersTimeout: 0, bodyTimeout: 0, ...options };
  }

  /** Opened with the first request: the client library costs a start. */
  get #agent(): Agent {
    this.#opened ??= this.#guard.dispatcher(this.#options);
    return this.#opened;
  }

  /** Throws POLICY_DENIED for an address that may not be called, judged by its text alone. */
  send(url: string | URL, request: OutgoingRequest, signal?: AbortSignal): HttpAnswer {
    this.#guard.check(url);
    const { origin, pathname, search } = new URL(url);
    return this.sendTo(origin, pathname + search, request, signal);
  }

  /** To an origin that was checked before: only the connections to it are judged. */
  sendTo(
    origin: string,
    path: string,
    { method = 'GET', headers = {}, body = null }: OutgoingRequest,
    signal?: AbortSignal,
  ): HttpAnswer {
    const answer = new HttpAnswer();
    if (signal) answer.follow(signal);
    this.#agent.dispatch(
      { origin, path, method: method as Dispatcher.HttpMethod, headers, body },
      answer,
    );
    return answer;
  }

  /** Closes when what is under way has ended. */
  async drain(): Promise<void> {
    await this.#opened?.close();
  }

  /** What is under way fails with `reason`. */
  async close(reason?: Error): Promise<void> {
    await this.#opened?.destroy(reason ?? null);
  }
}

const MAX_BYTES = 262_144;
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

export interface GuardedFetch {
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  close(): Promise<void>;
}

export interface GuardedFetchOptions {
  /** Hosts that the operator names: they may be private. */
  readonly hosts: readonly string[];
  readonly timeoutMs: number;
}

/**
 * A `fetch` for small requests about tokens and keys: every answer is bounded in time and bytes. A
 * connection that fails is a TypeError and the time limit a TimeoutError, as of any `fetch`.
 */
export function createGuardedFetch({ hosts, timeoutMs }: GuardedFetchOptions): GuardedFetch {
  const guard = createAddressGuard({ allow: hosts });
  const http = new GuardedHttp({ guard, connectTimeout: timeoutMs, connections: 4 });
  return {
    fetch: async (url, { method, headers: given, body } = {}) => {
      const text = body === undefined || body === null ? null : String(body);
      const headers = { 'accept-encoding': 'identity', ...Object.fromEntries(new Headers(given)) };
      const signal = AbortSignal.timeout(timeoutMs);
      const answer = http.send(String(url), { method, headers, body: text }, signal);
      const read = answer.head.then(async (head) => [head, await answer.read(MAX_BYTES)] as const);
      const [head, whole] = await read.catch((error: Error) => {
        if (signal.aborted) throw signal.reason;
        throw new TypeError('The request failed', { cause: error.cause ?? error });
      });
      return toResponse(head, whole);
    },
    close: () => http.close(),
  };
}

function toResponse({ status, headers }: HttpHead, { bytes, isWhole }: ReadBody): Response {
  if (!isWhole) throw failure('answer_too_large', { limit: MAX_BYTES });
  const text = bytes.toString('utf8');
  if (/\bjson\b/i.test(headers['content-type'] ?? '')) assertJsonLimits(text, UPSTREAM_JSON_LIMITS);
  const kept = Object.entries(headers)
    .filter(([name]) => !/^content-(length|encoding)$/.test(name))
    .map(([name, value]): [string, string] => [name, String(value)]);
  return new Response(WITHOUT_BODY.has(status) ? null : text, { status, headers: kept });
}
