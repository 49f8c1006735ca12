import {
  type Adapter,
  type AdapterOptions,
  type AgentDescription,
  type CallContext,
  type Envelope,
  type EventBody,
  FabricError,
  type Health,
  type Manifest,
  toHeaders,
  toMandateHeaders,
} from '@starloom/core';
import { Pool } from 'undici';
import { assertCallable, assertWanted } from '../upstream/assert-callable.ts';
import { closedError } from '../upstream/closed-error.ts';
import { describeManifest } from '../upstream/describe-manifest.ts';
import { createExcerpt, type Excerpt } from '../upstream/excerpt.ts';
import { checkHealth } from './check-health.ts';
import { Exchange } from './exchange.ts';
import { parseTarget, type Target } from './target.ts';

/** For agents that take the envelope by POST: the default profile of the `http` contract. */
export function createHttpAdapter(options: AdapterOptions): Adapter {
  return new HttpAdapter(options);
}

class HttpAdapter implements Adapter {
  readonly #manifest: Manifest;
  readonly #target: Target;
  readonly #excerpt: Excerpt;
  readonly #pool: Pool;
  #closed = false;

  constructor({ manifest }: AdapterOptions) {
    this.#manifest = manifest;
    this.#target = parseTarget(manifest);
    this.#excerpt = createExcerpt(manifest);
    // How long an answer may take is the caller's to say, by its signal.
    this.#pool = new Pool(this.#target.origin, {
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
      connect: { rejectUnauthorized: true, timeout: 10_000 },
    });
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    const { signal, log } = context;
    assertWanted(signal);
    const names = assertCallable(this.#manifest, envelope);
    if (this.#closed) throw closedError(this.#manifest).with({ ...names, sent: false });
    const { path, headers } = this.#target;
    const exchange = new Exchange({ target: this.#target, excerpt: this.#excerpt, names, log });
    const onAbort = () => exchange.abort(FabricError.from(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      this.#pool.dispatch(
        {
          method: 'POST',
          path,
          headers: {
            ...headers,
            ...toHeaders(envelope.trace, envelope.hop),
            ...toMandateHeaders(context),
            accept: 'application/json, text/event-stream',
            'content-type': 'application/json',
          },
          body: JSON.stringify(envelope),
        },
        exchange,
      );
      yield* exchange.events;
    } finally {
      signal.removeEventListener('abort', onAbort);
      exchange.leave();
    }
  }

  async health({ signal }: CallContext): Promise<Health> {
    if (!this.#closed) return checkHealth(this.#pool, this.#target, signal);
    const checked_at = new Date().toISOString();
    return { status: 'offline', checked_at, message: 'The adapter is closed' };
  }

  async describe(): Promise<AgentDescription> {
    return describeManifest(this.#manifest);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#pool.destroy(closedError(this.#manifest));
  }
}
