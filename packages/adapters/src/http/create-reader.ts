import type { IncomingHttpHeaders } from 'node:http';
import {
  type AnswerHead,
  type AnswerReader,
  answerError,
  type ReaderContext,
} from './answer-reader.ts';
import { ErrorReader } from './error-reader.ts';
import { JsonReader } from './json-reader.ts';
import { SseReader } from './sse-reader.ts';

/** The reader for an answer, by its status and type; throws when there is none. */
export function createReader(head: AnswerHead, context: ReaderContext): AnswerReader {
  const { status, headers } = head;
  if (status >= 300 && status < 400) {
    throw answerError('The agent sent us elsewhere, and redirects are not followed', {
      reason: 'redirect',
      status,
      location: context.excerpt(locationOf(headers)),
      fix: 'set endpoint.uri to where the agent really is',
    });
  }
  if (status >= 400) return new ErrorReader(head, context);

  const encoding = headers['content-encoding'] ?? 'identity';
  const type = mediaType(headers);
  if (encoding === 'identity' && type === 'text/event-stream') return new SseReader(context);
  if (encoding === 'identity' && /^application\/(.+\+)?json$/.test(type)) {
    return new JsonReader(headers, context);
  }
  throw answerError('The agent answered in a form that we did not ask for', {
    reason: 'content_type',
    content_type: context.excerpt(type),
    content_encoding: context.excerpt(encoding),
    fix: 'answer application/json or text/event-stream, not compressed',
  });
}

function mediaType(headers: IncomingHttpHeaders): string {
  return (headers['content-type'] ?? '').split(';', 1).join('').trim().toLowerCase();
}

/** Without the query, which may hold a credential. */
function locationOf(headers: IncomingHttpHeaders): string {
  return (headers.location ?? '').replace(/[?#].*$/s, '');
}
