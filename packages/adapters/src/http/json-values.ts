// Answers of protocols that speak JSON over HTTP: one document, or a stream with a document in each
// event. What the documents mean is for the protocol to say.

import type { EventBody } from '@starloom/core';
import type { AnswerHead, AnswerReader, ReaderContext } from './answer-reader.ts';
import { readAnswer } from './create-reader.ts';
import type { ExchangeContext, HttpClient, HttpRequest } from './http-client.ts';
import { parseJson } from './translate.ts';

export type JsonValue =
  | { readonly type: 'head'; readonly head: AnswerHead }
  /** One event of a stream. */
  | { readonly type: 'value'; readonly value: unknown }
  /** The document, or `undefined` at the end of a stream. */
  | { readonly type: 'final'; readonly value: unknown };

export type RequestContext = Omit<ExchangeContext<EventBody>, 'readerFor'>;

/** The values of one answer as they come. */
export function streamJson(
  client: HttpClient,
  request: HttpRequest,
  context: RequestContext,
): AsyncGenerator<JsonValue, void, undefined> {
  return client.exchange<JsonValue>(request, { ...context, readerFor: readValues });
}

/** The document that an answer is; `undefined` when it is a stream. */
export async function requestJson(
  client: HttpClient,
  request: HttpRequest,
  context: RequestContext,
): Promise<unknown> {
  for await (const item of streamJson(client, request, context)) {
    if (item.type !== 'head') return item.type === 'final' ? item.value : undefined;
  }
  return undefined;
}

function readValues(head: AnswerHead, context: ReaderContext<JsonValue>): AnswerReader {
  if (head.status < 300) context.emit({ type: 'head', head }, 0);
  return readAnswer(head, context, {
    json: (value, bytes) => context.emit({ type: 'final', value }, bytes),
    event: ({ data }) => context.emit({ type: 'value', value: parseJson(data) }, data.length),
    ended: () => context.emit({ type: 'final', value: undefined }, 0),
  });
}
