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
import { type Dispatcher, Pool } from 'undici';
import { closedError } from '../upstream/closed-error.ts';
import { createExcerpt, type Excerpt } from '../upstream/excerpt.ts';
import { checkHealth } from './check-health.ts';
import { Exchange, type ExchangeOptions } from './exchange.ts';
import type { Target } from './target.ts';

export interface HttpRequest {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  /** Beside those of the manifest; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
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
  readonly #pool: Pool;
  #closed = false;

  constructor(manifest: Manifest, target: Target, excerpt: Excerpt = createExcerpt(manifest)) {
    this.#manifest = manifest;
    this.target = target;
    this.excerpt = excerpt;
    this.#pool = new Pool(target.origin, {
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
      connect: { rejectUnauthorized: true, timeout: 10_000 },
    });
  }

  /** Sends one request and yields what `readerFor` makes of the answer, up to its final. */
  async *exchange<Item extends { readonly type: string } = EventBody>(
    { method, path, headers, body }: HttpRequest,
    { names, signal, log, readerFor }: ExchangeContext<Item>,
  ): AsyncGenerator<Item, void, undefined> {
    if (this.#closed) throw closedError(this.#manifest).with({ ...names, sent: false });
    const { excerpt, target: limits } = this;
    const exchange = new Exchange<Item>({ readerFor, limits, excerpt, names, log });
    const onAbort = () => exchange.abort(FabricError.from(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      this.#pool.dispatch(
        {
          method,
          path,
          headers: {
            ...this.target.headers,
            ...headers,
            accept: 'application/json, text/event-stream',
            ...(body !== undefined && { 'content-type': 'application/json' }),
          },
          body: body === undefined ? null : JSON.stringify(body),
        },
        exchange,
      );
      yield* exchange.events;
    } finally {
      signal.removeEventListener('abort', onAbort);
      exchange.leave();
    }
  }

  async health(path: string, signal: AbortSignal): Promise<Health> {
    if (!this.#closed) return checkHealth(this.#pool, this.target, path, signal);
    const checked_at = new Date().toISOString();
    return { status: 'offline', checked_at, message: 'The adapter is closed' };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#pool.destroy(closedError(this.#manifest));
  }
}
