import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { type EventBody, statusFailure } from '@starloom/core';
import {
  BoundedBody,
  type Excerpt,
  type HttpHead,
  LineSplitter,
  type SseEvent,
  SseParser,
} from '@starloom/wire';
import { failure } from '../reasons.ts';
import { isErrorPayload, reportedError } from '../upstream/reported-error.ts';
import { fromResult, fromSseEvent, parseJson } from './translate.ts';

/** Reads the body of one answer, chunk by chunk; whatever it throws fails the call. */
export interface AnswerReader {
  /** What is in a chunk may come in steps, each taken when there is room for it. */
  push(chunk: Buffer): Iterator<unknown> | undefined;
  end(): void;
}

export interface AnswerLimits {
  /** Of a JSON answer, and of each event of a stream. */
  readonly maxResultBytes: number;
  readonly maxStreamBytes: number;
}

/** What a reader gives its items to: events of ours, or values of a protocol. */
export interface ReaderContext<Item = EventBody> {
  readonly limits: AnswerLimits;
  readonly excerpt: Excerpt;
  emit(item: Item): void;
  /** Called with the type of each event that the adapter does not use. */
  passOver(type: string): void;
}

/** What a protocol makes of a success, by its form. */
interface AnswerListener {
  json(value: unknown): void;
  event(event: SseEvent): void;
  /** The stream is over; throws when it must not be yet. */
  onEnd(): void;
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
    onEnd() {
      throw failure('no_final', { fix: 'end each stream with a final or an error' });
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
    throw failure('redirect', { status, location: excerpt(locationOf(headers)) });
  }
  if (status >= 400) return new ErrorReader(head, excerpt);

  const encoding = headers['content-encoding'] ?? 'identity';
  const type = mediaType(headers);
  const reader = encoding === 'identity' ? successReader(head, type, limits, listener) : undefined;
  if (reader) return reader;
  throw failure('content_type', {
    content_type: excerpt(type),
    content_encoding: excerpt(encoding),
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
  const onEnd = () => listener.onEnd();
  if (type === 'text/event-stream') {
    const events = new SseParser({ maxEventBytes: limits.maxResultBytes });
    return new StreamReader(limits, {
      push: (chunk) => events.push(chunk),
      take: (event) => listener.event(event),
      onEnd,
    });
  }
  if (JSON_TYPE.test(type) && !(text && isEmpty)) {
    return new TextReader(length, limits, (json) => listener.json(parseJson(json)));
  }
  if (line && NDJSON.test(type)) {
    const lines = new LineSplitter({ unit: 'line', limit: limits.maxResultBytes });
    return new StreamReader(limits, {
      push: (chunk) => documentsIn(lines.push(chunk)),
      rest: () => documentsIn(lines.end()),
      take: line,
      onEnd,
    });
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

interface StreamItems<Item> {
  push(chunk: Buffer): Iterable<Item>;
  /** What is left after the last chunk. */
  rest?(): Iterable<Item>;
  take(item: Item): void;
  onEnd(): void;
}

/** An answer that comes item by item, as events or lines; bounded as a whole. */
class StreamReader<Item> implements AnswerReader {
  readonly #limit: number;
  readonly #items: StreamItems<Item>;
  #bytes = 0;

  constructor({ maxStreamBytes }: AnswerLimits, items: StreamItems<Item>) {
    this.#limit = maxStreamBytes;
    this.#items = items;
  }

  push(chunk: Buffer): Iterator<unknown> {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#limit) throw failure('stream_too_large', { limit: this.#limit });
    return this.#steps(this.#items.push(chunk));
  }

  end(): void {
    for (const _ of this.#steps(this.#items.rest?.() ?? []));
    this.#items.onEnd();
  }

  *#steps(items: Iterable<Item>): Generator<undefined, void, undefined> {
    for (const item of items) {
      this.#items.take(item);
      yield;
    }
  }
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
class TextReader implements AnswerReader {
  readonly #limit: number;
  readonly #body: BoundedBody;
  readonly #onText: (text: string) => void;

  constructor(
    contentLength: string | undefined,
    { maxResultBytes }: Pick<AnswerLimits, 'maxResultBytes'>,
    onText: (text: string) => void,
  ) {
    this.#limit = maxResultBytes;
    this.#body = new BoundedBody(maxResultBytes);
    this.#onText = onText;
    if (Number(contentLength) > maxResultBytes)
      throw failure('result_too_large', { limit: this.#limit });
  }

  push(chunk: Buffer): undefined {
    if (!this.#body.push(chunk)) throw failure('result_too_large', { limit: this.#limit });
  }

  end(): void {
    const bytes = this.#body.toBuffer();
    if (!isUtf8(bytes)) throw failure('invalid_utf8');
    this.#onText(bytes.toString('utf8'));
  }
}

const MAX_READ = 16_384;

/** An answer whose status is no success: an error payload of ours, or else what the status says. */
class ErrorReader implements AnswerReader {
  readonly #head: HttpHead;
  readonly #excerpt: Excerpt;
  readonly #body = new BoundedBody(MAX_READ);

  constructor(head: HttpHead, excerpt: Excerpt) {
    this.#head = head;
    this.#excerpt = excerpt;
  }

  push(chunk: Buffer): undefined {
    if (!this.#body.push(chunk)) this.end();
  }

  end(): void {
    const { status, headers } = this.#head;
    const excerpt = this.#excerpt;
    const text = this.#body.toBuffer().toString('utf8');
    const retryAfter = headers['retry-after'];
    const failure = statusFailure({ status, text: excerpt(text), retryAfter });
    const payload = parsePayload(text);
    if (!isErrorPayload(payload)) throw failure;
    const { retry_after_ms } = failure.details;
    const details = { status, ...(retry_after_ms === undefined ? {} : { retry_after_ms }) };
    throw reportedError(payload.error, excerpt).with(details);
  }
}

function parsePayload(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
