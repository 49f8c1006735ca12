// The requests to one agent over HTTP: pooled connections, answers read within limits and no faster
// than they are consumed, and left at the signal. How long an answer may take is the caller's to say.

import {
  assertWanted,
  type ErrorDetails,
  type EventBody,
  FabricError,
  type Health,
  type Log,
  type Manifest,
} from '@starloom/core';
import {
  createAddressGuard,
  deadlineSignal,
  type Excerpt,
  GuardedHttp,
  type HttpAnswer,
  type HttpHead,
  streamTurns,
} from '@starloom/wire';
import { closedError } from '../upstream/call.ts';
import { agentExcerpt, tlsOptions } from '../upstream/endpoint.ts';
import type { AnswerLimits, AnswerReader, ReaderContext } from './readers.ts';
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
  readonly caller?: string | undefined;
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
    { names, ...about }: ExchangeContext<Item>,
  ): AsyncGenerator<Item, void, undefined> {
    const { signal } = about;
    if (this.#closed) throw closedError(this.#manifest).with({ ...names, sent: false });
    assertWanted(signal);
    const { excerpt, target: limits } = this;
    try {
      yield* readItems<Item>(this.#send(request, signal), { ...about, limits, excerpt });
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

interface ExchangeOptions<Item> {
  /** Chosen when the head of the answer is there. */
  readonly readerFor: (head: HttpHead, context: ReaderContext<Item>) => AnswerReader;
  readonly limits: AnswerLimits;
  readonly excerpt: Excerpt;
  readonly signal: AbortSignal;
  /** On whose behalf; callers have their turns in rotation. */
  readonly caller?: string | undefined;
  readonly log: Log;
}

/**
 * One answer as the items that its reader makes of it, read no faster than they are consumed and by
 * turns with other streams. Leaving early closes the connection, which shows the agent that no
 * caller waits; after a final or a failure the rest of the answer may end, so that the connection
 * is kept. The items up to the final; what a reader emitted before it failed comes before its
 * failure.
 */
export async function* readItems<Item extends { readonly type: string } = EventBody>(
  answer: HttpAnswer,
  { readerFor, limits, excerpt, signal, caller, log }: ExchangeOptions<Item>,
): AsyncGenerator<Item, void, undefined> {
  const emitted: Item[] = [];
  let isOver = false;
  const context: ReaderContext<Item> = {
    limits,
    excerpt,
    emit(item) {
      if (!isOver) emitted.push(item);
      isOver ||= item.type === 'final';
    },
    passOver(type) {
      log.debug({ type: excerpt(type) }, 'an event of the agent is passed over');
    },
  };
  function* take(read: () => void): Generator<Item, void, undefined> {
    try {
      read();
    } catch (error) {
      yield* emitted.splice(0);
      if (isOver) return;
      isOver = true;
      throw error;
    }
    for (const item of emitted.splice(0)) {
      yield item;
      if (signal.aborted) throw FabricError.from(signal.reason);
    }
  }
  try {
    const head = await answer.head;
    let reader: AnswerReader | undefined;
    yield* take(() => {
      reader = readerFor(head, context);
    });
    for await (const chunk of answer.body()) {
      let steps: Iterator<unknown> | undefined;
      yield* take(() => {
        steps = reader?.push(chunk);
      });
      for (let isMore = steps !== undefined; isMore && !isOver; ) {
        const turn = streamTurns.enter(caller);
        if (turn) await turn;
        yield* take(() => {
          isMore = steps?.next().done === false;
        });
      }
      if (isOver) return;
    }
    yield* take(() => reader?.end());
  } catch (error) {
    isOver = true;
    throw error;
  } finally {
    if (isOver) answer.leave();
    else answer.abort(NOBODY_READS);
  }
}

export const NOBODY_READS = new FabricError('CANCELLED', 'The caller stopped reading the answer');

/** Asks at `path`. Any answer shows a living agent, also 404, but not one of the 5xx. */
async function checkHealth(
  http: GuardedHttp,
  target: Target,
  path: string,
  parent: AbortSignal,
): Promise<Health> {
  using deadline = deadlineSignal({ ms: target.healthTimeoutMs, parent });
  const started = performance.now();
  const checked_at = new Date().toISOString();
  try {
    const { origin, headers } = target;
    const answer = http.sendTo(origin, path, { headers }, deadline.signal);
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
