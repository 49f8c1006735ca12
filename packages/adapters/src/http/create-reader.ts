import type { IncomingHttpHeaders } from 'node:http';
import type { HttpHead } from '@starloom/wire';
import {
  type AnswerLimits,
  type AnswerReader,
  answerError,
  type ReaderContext,
} from './answer-reader.ts';
import { ErrorReader } from './error-reader.ts';
import { NdjsonReader } from './ndjson-reader.ts';
import { type SseListener, SseReader } from './sse-reader.ts';
import { TextReader } from './text-reader.ts';
import { fromResult, fromSseEvent, parseJson } from './translate.ts';

/** What a protocol makes of a success, by its form. */
export interface AnswerListener extends SseListener {
  json(value: unknown): void;
  /** One line of newline-delimited JSON; without it such an answer is refused. */
  line?(text: string): void;
  /** Of any type of text, or none where there is no content; without it such an answer is refused. */
  text?(text: string): void;
}

/** The reader for an answer of the `http` contract. */
export function createReader(head: HttpHead, context: ReaderContext): AnswerReader {
  return readAnswer(head, context, {
    json(value) {
      for (const body of fromResult(value, context.excerpt)) context.emit(body);
    },
    event(event) {
      const body = fromSseEvent(event, context.excerpt);
      if (body === undefined) context.passOver(event.event);
      else context.emit(body);
    },
    ended() {
      throw answerError('The stream of the agent ended without a final', {
        reason: 'no_final',
        fix: 'end each stream with a final or an error',
      });
    },
  });
}

/** The reader for an answer, by its status and type; throws when there is none. */
export function readAnswer(
  head: HttpHead,
  { limits, excerpt }: Pick<ReaderContext, 'limits' | 'excerpt'>,
  listener: AnswerListener,
): AnswerReader {
  const { status, headers } = head;
  if (status >= 300 && status < 400) {
    throw answerError('The agent sent us elsewhere, and redirects are not followed', {
      reason: 'redirect',
      status,
      location: excerpt(locationOf(headers)),
      fix: 'set endpoint.uri to where the agent really is',
    });
  }
  if (status >= 400) return new ErrorReader(head, excerpt);

  const encoding = headers['content-encoding'] ?? 'identity';
  const type = mediaType(headers);
  const reader = encoding === 'identity' ? successReader(head, type, limits, listener) : undefined;
  if (reader) return reader;
  throw answerError('The agent answered in a form that we did not ask for', {
    reason: 'content_type',
    content_type: excerpt(type),
    content_encoding: excerpt(encoding),
    fix: 'answer application/json or text/event-stream, not compressed',
  });
}

function successReader(
  { status, headers }: HttpHead,
  type: string,
  limits: AnswerLimits,
  listener: AnswerListener,
): AnswerReader | undefined {
  const length = headers['content-length'];
  const { line, text } = listener;
  const isEmpty = status === 204 || status === 205 || type === '';
  // A page is what proxies and login screens answer with, and no result.
  const isText = isEmpty || (TEXT.test(type) && type !== 'text/html');
  if (type === 'text/event-stream') return new SseReader(limits, listener);
  if (JSON_TYPE.test(type) && !(text && isEmpty)) {
    return new TextReader(length, limits, (json) => listener.json(parseJson(json)));
  }
  if (line && NDJSON.test(type)) {
    return new NdjsonReader(limits, { line, ended: () => listener.ended() });
  }
  return text && isText ? new TextReader(length, limits, text) : undefined;
}

const JSON_TYPE = /^application\/(.+\+)?json$/;
const NDJSON = /^application\/(x-ndjson|ndjson|jsonl|x-jsonlines|jsonlines|json-seq)$/;
const TEXT = /^(text\/.+|application\/(.+\+)?(xml|yaml|x-yaml)|application\/vnd\.oai\.openapi)$/;

function mediaType(headers: IncomingHttpHeaders): string {
  return (headers['content-type'] ?? '').split(';', 1).join('').trim().toLowerCase();
}

/** Without the query, which may hold a credential. */
function locationOf(headers: IncomingHttpHeaders): string {
  return (headers.location ?? '').replace(/[?#].*$/s, '');
}
