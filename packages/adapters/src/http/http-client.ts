// The requests to one agent over HTTP: pooled connections, answers read within limits and no faster
// than they are consumed, and left at the signal. How long an answer may take is the caller's to say.

import { assertWanted, FabricError, type Health, type Manifest } from '@starloom/core';
import {
  createAddressGuard,
  deadlineSignal,
  type Excerpt,
  GuardedHttp,
  type HttpAnswer,
} from '@starloom/wire';
import { closedError } from '../upstream/call.ts';
import { agentExcerpt, tlsOptions } from '../upstream/endpoint.ts';
import { type HttpOptions, parseTarget, type Target } from './target.ts';

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

export class HttpClient {
  readonly target: Target;
  readonly excerpt: Excerpt;
  readonly #manifest: Manifest;
  readonly #http: GuardedHttp;
  #closed = false;

  constructor(manifest: Manifest, options: HttpOptions) {
    const target = parseTarget(manifest, options);
    this.#manifest = manifest;
    this.target = target;
    this.excerpt = agentExcerpt(manifest);
    // The operator named this host, so it is reached wherever it is; other hosts of our network are not.
    const guard = createAddressGuard({ allow: [new URL(target.origin).hostname] });
    const connect = { rejectUnauthorized: true, timeout: 10_000, ...tlsOptions(manifest.endpoint) };
    this.#http = new GuardedHttp({ guard, connect });
  }

  send(request: HttpRequest, signal: AbortSignal): HttpAnswer {
    if (this.#closed) throw closedError(this.#manifest).with({ sent: false });
    assertWanted(signal);
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

  /** Asks at `path`. Any answer shows a living agent, also 404, but not one of the 5xx. */
  async health(path: string, parent: AbortSignal): Promise<Health> {
    const started = performance.now();
    const checked_at = new Date().toISOString();
    if (this.#closed) return { status: 'offline', checked_at, message: 'The adapter is closed' };
    const { origin, headers, healthTimeoutMs } = this.target;
    using deadline = deadlineSignal({ ms: healthTimeoutMs, parent });
    try {
      const answer = this.#http.sendTo(origin, path, { headers }, deadline.signal);
      const { status } = await answer.head;
      answer.leave();
      const latency_ms = performance.now() - started;
      if (status < 500) return { status: 'online', checked_at, latency_ms };
      return { status: 'offline', checked_at, latency_ms, message: `It answered ${status}` };
    } catch (error) {
      const reason = FabricError.is(parent.reason) ? parent.reason : undefined;
      if (reason?.code === 'CANCELLED') throw reason;
      return { status: 'offline', checked_at, message: FabricError.from(error).message };
    }
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
