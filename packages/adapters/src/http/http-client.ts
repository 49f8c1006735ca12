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
import { createAddressGuard, type Excerpt } from '@starloom/wire';
import type { Agent, Dispatcher } from 'undici';
import { agentExcerpt } from '../upstream/agent-excerpt.ts';
import { assertWanted } from '../upstream/assert-callable.ts';
import { closedError } from '../upstream/closed-error.ts';
import { tlsOptions } from '../upstream/tls-options.ts';
import { checkHealth } from './check-health.ts';
import { DispatchExchange, type ExchangeOptions } from './exchange.ts';
import type { Target } from './target.ts';

export interface HttpRequest {
  readonly method: Dispatcher.HttpMethod;
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
  readonly #dispatcher: Agent;
  #closed = false;

  constructor(manifest: Manifest, target: Target, excerpt: Excerpt = agentExcerpt(manifest)) {
    this.#manifest = manifest;
    this.target = target;
    this.excerpt = excerpt;
    // The operator named this host, so it is reached wherever it is; other hosts of our network are not.
    const guard = createAddressGuard({ allow: [new URL(target.origin).hostname] });
    this.#dispatcher = guard.dispatcher({
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
      connect: { rejectUnauthorized: true, timeout: 10_000, ...tlsOptions(manifest.endpoint) },
    });
  }

  /** Sends one request and yields what `readerFor` makes of the answer, up to its final. */
  async *exchange<Item extends { readonly type: string } = EventBody>(
    request: HttpRequest,
    { names, signal, log, readerFor }: ExchangeContext<Item>,
  ): AsyncGenerator<Item, void, undefined> {
    if (this.#closed) throw closedError(this.#manifest).with({ ...names, sent: false });
    assertWanted(signal);
    const { excerpt, target: limits } = this;
    const exchange = new DispatchExchange<Item>({ readerFor, limits, excerpt, names, log });
    const onAbort = () => exchange.abort(FabricError.from(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      this.#dispatcher.dispatch(this.#toDispatch(request), exchange);
      yield* exchange.events;
    } finally {
      signal.removeEventListener('abort', onAbort);
      exchange.leave();
    }
  }

  #toDispatch(request: HttpRequest): Dispatcher.DispatchOptions {
    const { method, path, headers, accept = [] } = request;
    const content = contentOf(request);
    return {
      origin: this.target.origin,
      method,
      path,
      headers: {
        ...this.target.headers,
        ...headers,
        accept: ['application/json', 'text/event-stream', ...accept].join(', '),
        ...(content && { 'content-type': content.type }),
      },
      body: content?.text ?? null,
    };
  }

  async health(path: string, signal: AbortSignal): Promise<Health> {
    if (!this.#closed) return checkHealth(this.#dispatcher, this.target, path, signal);
    const checked_at = new Date().toISOString();
    return { status: 'offline', checked_at, message: 'The adapter is closed' };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#dispatcher.destroy(closedError(this.#manifest));
  }
}

function contentOf({ body, content }: HttpRequest): HttpRequest['content'] {
  if (content || body === undefined) return content;
  return { type: 'application/json', text: JSON.stringify(body) };
}
