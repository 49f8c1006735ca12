// Answers over HTTP as the items that a protocol makes of them, within limits.

import type { IncomingHttpHeaders } from 'node:http';
import { type EventBody, FabricError, type Log, statusFailure, tryParseJson } from '@starloom/core';
import {
  type Excerpt,
  type HttpAnswer,
  type HttpHead,
  LineSplitter,
  parseUpstreamJson,
  type SseEvent,
  SseParser,
  streamTurns,
} from '@starloom/wire';
import { failure } from '../reasons.ts';
import { isErrorPayload, reportedError } from '../upstream/reported-error.ts';
import { fromResult, fromSseEvent } from './translate.ts';

export interface AnswerLimits {
  /** Of a JSON answer, and of each event of a stream. */
  readonly maxResultBytes: number;
  readonly maxStreamBytes: number;
}

export interface ReaderContext {
  readonly limits: AnswerLimits;
  readonly excerpt: Excerpt;
  /** On whose behalf; callers have their turns in rotation. */
  readonly caller?: string | undefined;
  readonly log: Log;
}

/** What a protocol makes of an answer; whatever it throws fails the call. */
export type AnswerReader<Item> = (
  answer: HttpAnswer,
  context: ReaderContext,
) => AsyncGenerator<Item, void, undefined>;

/**
 * The items of one answer up to the final, read no faster than they are consumed. Leaving early
 * closes the connection, which shows the agent that no caller waits; after a final or a failure the
 * rest of the answer may end, so that the connection is kept.
 */
export async function* readItems<Item extends { readonly type: string }>(
  answer: HttpAnswer,
  read: AnswerReader<Item>,
  { signal, ...context }: ReaderContext & { readonly signal: AbortSignal },
): AsyncGenerator<Item, void, undefined> {
  let isOver = false;
  try {
    for await (const item of read(answer, context)) {
      isOver = item.type === 'final';
      yield item;
      if (isOver) return;
      if (signal.aborted) throw FabricError.from(signal.reason);
    }
  } catch (error) {
    isOver = true;
    throw error;
  } finally {
    if (isOver) answer.leave();
    else answer.abort(NOBODY_READS);
  }
}

export const NOBODY_READS = new FabricError('CANCELLED', 'The caller stopped reading the answer');

/** What a protocol makes of a success, by its form. */
interface AnswerListener<Item> {
  json(value: unknown): readonly Item[];
  event(event: SseEvent): readonly Item[];
  /** The stream is over; throws when it must not be yet. */
  onEnd(): readonly Item[];
  /** One line of newline-delimited JSON; without it such an answer is refused. */
  line?(text: string): readonly Item[];
  /** Of any type of text, or none where there is no content; without it such an answer is refused. */
  text?(text: string): readonly Item[];
}

/** Reads an answer of the `http` contract. */
export function readEvents(
  answer: HttpAnswer,
  context: ReaderContext,
): AsyncGenerator<EventBody, void, undefined> {
  const { excerpt, log } = context;
  return readAnswer(answer, context, {
    json: (value) => fromResult(value, excerpt),
    event(event) {
      const body = fromSseEvent(event, excerpt);
      if (body) return [body];
      log.debug({ type: excerpt(event.event) }, 'an event of the agent is passed over');
      return [];
    },
    onEnd() {
      throw failure('no_final', { fix: 'end each stream with a final or an error' });
    },
  });
}

/** Reads an answer by its status and type; throws when there is no reader for it. */
export async function* readAnswer<Item>(
  answer: HttpAnswer,
  { limits, excerpt, caller }: ReaderContext,
  listener: AnswerListener<Item>,
): AsyncGenerator<Item, void, undefined> {
  const { status, headers } = await answer.head;
  if (status >= 300 && status < 400) {
    throw failure('redirect', { status, location: excerpt(locationOf(headers)) });
  }
  if (status >= 400) throw await readError(answer, { status, headers }, excerpt);

  const encoding = headers['content-encoding'] ?? 'identity';
  const type = mediaType(headers);
  const isEmpty = status === 204 || status === 205 || type === '';
  // A page is what proxies and login screens answer with, and no result.
  const isText = isEmpty || (TEXT.test(type) && type !== 'text/html');
  const items = (): AsyncIterable<readonly Item[]> | undefined => {
    const { line, text } = listener;
    if (type === 'text/event-stream') return eventsOf(answer, limits, listener);
    if (JSON_TYPE.test(type) && !(text && isEmpty)) {
      return wholeOf(answer, limits, (json) => listener.json(parseUpstreamJson(json)));
    }
    if (line && NDJSON.test(type)) return linesOf(answer, limits, line, listener);
    return text && isText ? wholeOf(answer, limits, text) : undefined;
  };
  const found = encoding === 'identity' ? items() : undefined;
  if (!found) {
    const content_encoding = excerpt(encoding);
    throw failure('content_type', { content_type: excerpt(type), content_encoding });
  }
  for await (const each of found) {
    yield* each;
    const turn = streamTurns.enter(caller);
    if (turn) await turn;
  }
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

async function* eventsOf<Item>(
  answer: HttpAnswer,
  limits: AnswerLimits,
  listener: AnswerListener<Item>,
): AsyncGenerator<readonly Item[], void, undefined> {
  const events = new SseParser({ maxEventBytes: limits.maxResultBytes });
  for await (const chunk of answer.body(limits.maxStreamBytes)) {
    for (const event of events.push(chunk)) yield listener.event(event);
  }
  yield listener.onEnd();
}

async function* linesOf<Item>(
  answer: HttpAnswer,
  limits: AnswerLimits,
  take: (text: string) => readonly Item[],
  { onEnd }: AnswerListener<Item>,
): AsyncGenerator<readonly Item[], void, undefined> {
  const lines = new LineSplitter({ unit: 'line', limit: limits.maxResultBytes });
  for await (const chunk of answer.body(limits.maxStreamBytes)) {
    for (const text of documentsIn(lines.push(chunk))) yield take(text);
  }
  for (const text of documentsIn(lines.end())) yield take(text);
  yield onEnd();
}

/** What begins a text of `application/json-seq`, and a file of some editors. */
const MARKS = '\u001E\uFEFF';

/** Each line that holds a document. */
function* documentsIn(lines: Iterable<string>): Generator<string, void, undefined> {
  for (const line of lines) {
    const text = MARKS.includes(line.charAt(0)) ? line.slice(1) : line;
    if (text.trim() !== '') yield text;
  }
}

/** An answer that is one text, all of it in memory before it is looked at. */
async function* wholeOf<Item>(
  answer: HttpAnswer,
  { maxResultBytes }: AnswerLimits,
  take: (text: string) => readonly Item[],
): AsyncGenerator<readonly Item[], void, undefined> {
  yield take(await answer.text(maxResultBytes));
}

const MAX_READ = 16_384;

/** What an answer says whose status is no success: an error payload of ours, or else what the status says. */
async function readError(
  answer: HttpAnswer,
  { status, headers }: HttpHead,
  excerpt: Excerpt,
): Promise<FabricError> {
  const { bytes } = await answer.read(MAX_READ);
  const text = bytes.toString('utf8');
  const retryAfter = headers['retry-after'];
  const failure = statusFailure({ status, text: excerpt(text), retryAfter });
  const payload = tryParseJson(text);
  if (!isErrorPayload(payload)) return failure;
  const { retry_after_ms } = failure.details;
  const details = { status, ...(retry_after_ms === undefined ? {} : { retry_after_ms }) };
  return reportedError(payload.error, excerpt).with(details);
}
