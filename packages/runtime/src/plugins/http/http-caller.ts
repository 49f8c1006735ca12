// HTTP requests that a model may choose: only to public addresses, judged when they are dialled and
// again for every redirect, within a time and a size. Answers are text or they are refused.

import { STATUS_CODES } from 'node:http';
import { FabricError, orAborted, socketErrorCode } from '@starloom/core';
import {
  type AddressGuard,
  deadlineSignal,
  GuardedHttp,
  type HttpAnswer,
  type HttpHead,
} from '@starloom/wire';
import { readText } from './read-text.ts';
import { nextRequest } from './redirect.ts';

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export interface HttpCallerOptions {
  readonly guard: AddressGuard;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly maxRedirects: number;
}

/** Ours to set: they say where a message ends and for whom it is. */
const REFUSED_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const OWN_HEADERS = {
  'user-agent': 'starloom',
  accept: '*/*',
  'accept-encoding': 'gzip, deflate, br',
};

export class HttpCaller {
  readonly #options: HttpCallerOptions;
  readonly #http: GuardedHttp;

  constructor(options: HttpCallerOptions) {
    this.#options = options;
    const { guard } = options;
    this.#http = new GuardedHttp({ guard, maxHeaderSize: 65_536, connections: 16 });
  }

  /** Status, headers and body as one text. */
  async call(request: HttpRequest, parent: AbortSignal): Promise<string> {
    assertHeaders(request.headers);
    using deadline = deadlineSignal({ ms: this.#options.timeoutMs, parent });
    const { signal } = deadline;
    try {
      const { answer, head, url } = await this.#follow(request, signal);
      const body = await orAborted(readText(answer, head, this.#options.maxBytes), signal);
      return `${shownHead(head, url)}\n\n${body}`;
    } catch (error) {
      throw callFailure(signal.aborted ? signal.reason : error);
    }
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #follow(first: HttpRequest, signal: AbortSignal) {
    let request = first;
    for (let redirects = 0; ; redirects += 1) {
      const answer = this.#send(request, signal);
      const head = await answer.head;
      const next = nextRequest(request, head);
      if (!next) return { answer, head, url: request.url };
      answer.leave();
      if (redirects >= this.#options.maxRedirects) throw tooManyRedirects(redirects);
      request = next;
    }
  }

  #send({ method, url, body, ...request }: HttpRequest, signal: AbortSignal): HttpAnswer {
    const headers = { ...OWN_HEADERS, ...lowerCased(request.headers) };
    return this.#http.send(url, { method, headers, body }, signal);
  }
}

const SHOWN_HEADERS = ['content-type', 'last-modified', 'location', 'retry-after'];

function shownHead({ status, headers }: HttpHead, url: string): string {
  const shown = SHOWN_HEADERS.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [`${name}: ${value}`];
  });
  return [`${url}`, `HTTP ${status} ${STATUS_CODES[status] ?? ''}`.trim(), ...shown].join('\n');
}

function lowerCased(headers: HttpRequest['headers']): Record<string, string> {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return Object.fromEntries(named);
}

function assertHeaders(headers: HttpRequest['headers']): void {
  for (const [name, value] of Object.entries(headers)) {
    const isRefused = REFUSED_HEADERS.has(name.toLowerCase());
    if (!isRefused && !/[\r\n\0]/.test(value)) continue;
    throw new FabricError('BAD_INPUT', 'This header may not be set', {
      details: { reason: 'bad_header', header: name, fix: 'leave the header out' },
    });
  }
}

function callFailure(error: unknown): FabricError {
  const failure = FabricError.from(error);
  const code = socketErrorCode(failure.cause);
  if (code === undefined) return failure;
  return new FabricError('UPSTREAM_ERROR', 'The server could not be reached', {
    details: { reason: 'unreachable', code, fix: 'check the address, or try again later' },
    cause: error,
  });
}

function tooManyRedirects(count: number): FabricError {
  return new FabricError('UPSTREAM_ERROR', `The server redirects more than ${count} times`, {
    details: { reason: 'too_many_redirects', fix: 'call the address it leads to' },
  });
}
