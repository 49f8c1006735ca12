// Answers of protocols that speak JSON over HTTP: one document, or a stream with a document in each
// event. What the documents mean is for the protocol to say.

import { type EventBody, FabricError } from '@starloom/core';
import { deadlineSignal, type HttpHead } from '@starloom/wire';
import type { ExchangeContext, HttpClient, HttpRequest } from './http-client.ts';
import type { AnswerReader, ReaderContext } from './readers.ts';
import { readAnswer } from './readers.ts';
import { parseJson } from './translate.ts';

export type JsonValue =
  | { readonly type: 'head'; readonly head: HttpHead }
  /** One event of a stream, with its name where the stream names events. */
  | { readonly type: 'value'; readonly value: unknown; readonly event?: string }
  /** The document, or `undefined` at the end of a stream; `done` when the stream said so itself. */
  | { readonly type: 'final'; readonly value: unknown; readonly done?: true };

export type RequestContext = Omit<ExchangeContext<EventBody>, 'readerFor'>;

/** What is read besides one JSON document and a stream of events. */
export interface AnswerForms {
  /** The data of the event that ends a stream, such as `[DONE]`. */
  readonly done?: string | undefined;
  /** One document per line. */
  readonly lines?: boolean;
  /** Texts of other types, as a string; no content is `undefined`. */
  readonly texts?: boolean;
}

const ASIDE_MS = 5_000;
const LINE_TYPES = ['application/x-ndjson'];
const TEXT_TYPES = ['text/*;q=0.5'];

/** The values of one answer as they come. */
export function streamJson(
  client: HttpClient,
  request: HttpRequest,
  context: RequestContext,
  forms: AnswerForms = {},
): AsyncGenerator<JsonValue, void, undefined> {
  const accept = [...(forms.lines ? LINE_TYPES : []), ...(forms.texts ? TEXT_TYPES : [])];
  return client.exchange<JsonValue>(
    { ...request, accept },
    { ...context, readerFor: (head, reader) => readValues(head, reader, forms) },
  );
}

/** The document that an answer is; `undefined` when it is a stream. */
export async function requestJson(
  client: HttpClient,
  request: HttpRequest,
  context: RequestContext,
  forms: AnswerForms = {},
): Promise<unknown> {
  for await (const item of streamJson(client, request, context, forms)) {
    if (item.type !== 'head') return item.type === 'final' ? item.value : undefined;
  }
  return undefined;
}

/** Requests beside a call that is over, within a time of their own; a failure is only logged. */
export async function aside(
  context: RequestContext,
  message: string,
  work: (context: RequestContext) => Promise<unknown>,
): Promise<void> {
  using deadline = deadlineSignal({ ms: ASIDE_MS });
  try {
    await work({ ...context, signal: deadline.signal });
  } catch (error) {
    context.log.debug({ error: FabricError.from(error) }, message);
  }
}

function readValues(
  head: HttpHead,
  context: ReaderContext<JsonValue>,
  { done, lines, texts }: AnswerForms,
): AnswerReader {
  if (head.status < 300) context.emit({ type: 'head', head });
  const emit = (data: string, event?: string) => {
    if (data === done) return context.emit({ type: 'final', value: undefined, done: true });
    const value = parseJson(data);
    context.emit({ type: 'value', value, ...(event !== undefined && { event }) });
  };
  return readAnswer(head, context, {
    json: (value) => context.emit({ type: 'final', value }),
    event: ({ data, event }) => emit(data, event),
    onEnd: () => context.emit({ type: 'final', value: undefined }),
    ...(lines && { line: (text: string) => emit(text) }),
    ...(texts && {
      text: (text: string) =>
        context.emit({ type: 'final', value: text === '' ? undefined : text }),
    }),
  });
}
