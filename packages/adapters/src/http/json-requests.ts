// Answers of protocols that speak JSON over HTTP: one document, or a stream with a document in each
// event. What the documents mean is for the protocol to say.

import {
  type CallContext,
  callHeaders,
  type Envelope,
  FabricError,
  type Log,
} from '@starloom/core';
import { deadlineSignal, type HttpAnswer, type HttpHead, parseUpstreamJson } from '@starloom/wire';
import type { HttpClient, HttpRequest } from './http-client.ts';
import { type AnswerReader, type ReaderContext, readAnswer, readItems } from './readers.ts';

export type JsonValue =
  | { readonly type: 'head'; readonly head: HttpHead }
  /** One event of a stream, with its name where the stream names events. */
  | { readonly type: 'value'; readonly value: unknown; readonly event?: string }
  /** The document, or `undefined` at the end of a stream; `done` when the stream said so itself. */
  | { readonly type: 'final'; readonly value: unknown; readonly done?: true };

interface RequestsOptions {
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly caller?: string | undefined;
  /** Of every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What is read besides one JSON document and a stream of events. */
export interface AnswerForms {
  /** The data of the event that ends a stream, such as `[DONE]`. */
  readonly done?: string | undefined;
  /** One document per line. */
  readonly lines?: boolean;
  /** Texts of other types, as a string; no content is `undefined`. */
  readonly texts?: boolean;
}

const LATE_MS = 5_000;
const LINE_TYPES = ['application/x-ndjson'];
const TEXT_TYPES = ['text/*;q=0.5'];

/** Requests to one agent that belong together, such as those of one call. */
export class JsonRequests {
  readonly client: HttpClient;
  readonly #options: RequestsOptions;

  constructor(client: HttpClient, options: RequestsOptions) {
    this.client = client;
    this.#options = options;
  }

  /** Those of a call carry its trace, depth and chain, and a mandate for agents that want one. */
  static of(
    client: HttpClient,
    envelope: Pick<Envelope, 'trace' | 'hop' | 'auth'>,
    context: CallContext,
  ): JsonRequests {
    const { signal, log } = context;
    const caller = envelope.auth.principal_id ?? undefined;
    const headers = callHeaders(envelope, context);
    return new JsonRequests(client, { signal, log, caller, headers });
  }

  /** The same requests until another signal aborts. */
  until(signal: AbortSignal): JsonRequests {
    return new JsonRequests(this.client, { ...this.#options, signal });
  }

  /** Sends one request and yields what `read` makes of the answer, up to its final. */
  async *exchange<Item extends { readonly type: string }>(
    request: HttpRequest,
    read: AnswerReader<Item>,
  ): AsyncGenerator<Item, void, undefined> {
    const { headers, ...context } = this.#options;
    const { excerpt, target: limits } = this.client;
    const all = { ...request, headers: { ...request.headers, ...headers } };
    const answer = this.client.send(all, context.signal);
    try {
      yield* readItems(answer, read, { ...context, limits, excerpt });
    } catch (error) {
      throw FabricError.from(context.signal.aborted ? context.signal.reason : error);
    }
  }

  /** The values of one answer as they come. */
  stream(
    request: HttpRequest,
    forms: AnswerForms = {},
  ): AsyncGenerator<JsonValue, void, undefined> {
    const accept = [...(forms.lines ? LINE_TYPES : []), ...(forms.texts ? TEXT_TYPES : [])];
    return this.exchange<JsonValue>({ ...request, accept }, (answer, context) =>
      readValues(answer, context, forms),
    );
  }

  /** The document that an answer is; `undefined` when it is a stream. */
  async json(request: HttpRequest, forms: AnswerForms = {}): Promise<unknown> {
    for await (const item of this.stream(request, forms)) {
      if (item.type !== 'head') return item.type === 'final' ? item.value : undefined;
    }
    return undefined;
  }

  /** Requests after the end of a call, within a time of their own; a failure is only logged. */
  async late(message: string, work: (late: JsonRequests) => Promise<unknown>): Promise<void> {
    using deadline = deadlineSignal({ ms: LATE_MS });
    try {
      await work(this.until(deadline.signal));
    } catch (error) {
      this.#options.log.debug({ error: FabricError.from(error) }, message);
    }
  }
}

async function* readValues(
  answer: HttpAnswer,
  context: ReaderContext,
  { done, lines, texts }: AnswerForms,
): AsyncGenerator<JsonValue, void, undefined> {
  const head = await answer.head;
  if (head.status < 300) yield { type: 'head', head };
  const take = (data: string, event?: string): JsonValue[] => {
    if (data === done) return [{ type: 'final', value: undefined, done: true }];
    return [
      { type: 'value', value: parseUpstreamJson(data), ...(event !== undefined && { event }) },
    ];
  };
  const end = (value?: unknown): JsonValue[] => [{ type: 'final', value }];
  yield* readAnswer<JsonValue>(answer, context, {
    json: end,
    event: ({ data, event }) => take(data, event),
    onEnd: end,
    ...(lines && { line: (text: string) => take(text) }),
    ...(texts && { text: (text: string) => end(text === '' ? undefined : text) }),
  });
}
