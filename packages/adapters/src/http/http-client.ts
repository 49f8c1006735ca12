// The requests to one agent over HTTP: pooled connections, answers read within limits and no faster
// than they are consumed, and left at the signal. How long an answer may take is the caller's to say.

import {
  type ErrorDetails,
  type EventBody,
  FabricError,
  type Health,
  type Log,
  type Manifest,
} from '@starloom/core';
import { createAddressGuard, type Excerpt, GuardedHttp, type HttpAnswer } from '@starloom/wire';
import { agentExcerpt } from '../upstream/agent-excerpt.ts';
import { assertWanted } from '../upstream/assert-callable.ts';
import { closedError } from '../upstream/closed-error.ts';
import { tlsOptions } from '../upstream/tls-options.ts';
import { checkHealth } from './check-health.ts';
import { type ExchangeOptions, readItems } from './exchange.ts';
import type { Target } from './target.ts';

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  /** Beside those of the manifest; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** In place of `body`: a body of another type. */
  readonly content?: { readonly type: string; readonly text: string } | undefined;
  /** What the answer may be, besides JSON and a stream of events. */
  readonly accept?: readonly string[];
}

export interface ExchangeContext<Item> {
  readonly names: ErrorDetails;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly readerFor: ExchangeOptions<Item>['readerFor'];
}

export class HttpClient {
  readonly target: Target;
  readonly excerpt: Excerpt;
  readonly #manifest: Manifest;
  readonly #http: GuardedHttp;
  #closed = false;

  constructor(manifest: Manifest, target: Target, excerpt: Excerpt = agentExcerpt(manifest)) {
    this.#manifest = manifest;
    this.target = target;
    this.excerpt = excerpt;
    // The operator named this host, so it is reached wherever it is; other hosts of our network are not.
    const guard = createAddressGuard({ allow: [new URL(target.origin).hostname] });
    const connect = { rejectUnauthorized: true, timeout: 10_000, ...tlsOptions(manifest.endpoint) };
    this.#http = new GuardedHttp({ guard, connect });
  }

  /** Sends one request and yields what `readerFor` makes of the answer, up to its final. */
  async *exchange<Item extends { readonly type: string } = EventBody>(
    request: HttpRequest,
    { names, signal, log, readerFor }: ExchangeContext<Item>,
  ): AsyncGenerator<Item, void, undefined> {
    if (this.#closed) throw closedError(this.#manifest).with({ ...names, sent: false });
    assertWanted(signal);
    const { excerpt, target: limits } = this;
    try {
      yield* readItems<Item>(this.#send(request, signal), {
        readerFor,
        limits,
        excerpt,
        signal,
        log,
      });
    } catch (error) {
      throw signal.aborted ? FabricError.from(signal.reason) : FabricError.from(error).with(names);
    }
  }

  #send(request: HttpRequest, signal: AbortSignal): HttpAnswer {
    const { method, path, accept = [] } = request;
    const content = contentOf(request);
    const headers = {
      ...this.target.headers,
      ...request.headers,
      accept: ['application/json', 'text/event-stream', ...accept].join(', '),
      ...(content && { 'content-type': content.type }),
    };
    const body = content?.text;
    return this.#http.sendTo(this.target.origin, path, { method, headers, body }, signal);
  }

  async health(path: string, signal: AbortSignal): Promise<Health> {
    if (!this.#closed) return checkHealth(this.#http, this.target, path, signal);
    const checked_at = new Date().toISOString();
    return { status: 'offline', checked_at, message: 'The adapter is closed' };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#http.close(closedError(this.#manifest));
  }
}

function contentOf({ body, content }: HttpRequest): HttpRequest['content'] {
  if (content || body === undefined) return content;
  return { type: 'application/json', text: JSON.stringify(body) };
}
