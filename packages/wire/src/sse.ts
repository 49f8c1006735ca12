// Server-sent events, read by the rules of the HTML standard ("Interpreting an event stream"), with
// two of our own: an event has a size limit, and bytes that are not UTF-8 are an error.

import { LineSplitter } from './lines.ts';

export interface SseEvent {
  /** `message` unless the stream says otherwise. */
  readonly event: string;
  readonly data: string;
  /** The last id the stream gave, on this event or before; absent while there is none. */
  readonly id?: string;
  /** The reconnection time the stream asked for last, in milliseconds. */
  readonly retry?: number;
}

interface ReadSseOptions {
  /** Largest event in bytes: all its lines, comments included, without their line ends. */
  readonly maxEventBytes: number;
}

/**
 * The events of `source`. Fails with UPSTREAM_ERROR on an event over the limit (as soon as that is
 * known) and on bytes that are not UTF-8; errors of the source pass through. An event that is cut
 * off by the end of the source is dropped. The source is closed when the consumer stops.
 */
export async function* readSse(
  source: AsyncIterable<Uint8Array>,
  options: ReadSseOptions,
): AsyncGenerator<SseEvent, void, undefined> {
  const parser = new SseParser(options);
  for await (const chunk of source) {
    for (const event of parser.push(chunk)) yield event;
  }
}

/** The same for code that is handed chunks, such as an HTTP client's data handler. */
export class SseParser {
  readonly #lines: LineSplitter;
  #atStart = true;
  #event = '';
  #data: string | undefined;
  #id = '';
  #retry: number | undefined;

  constructor(options: ReadSseOptions) {
    this.#lines = new LineSplitter({ unit: 'event', limit: options.maxEventBytes });
  }

  /** The events that `chunk` completes. Exhaust it before the next call; it may throw mid-way. */
  *push(chunk: Uint8Array): Generator<SseEvent, void, undefined> {
    for (const line of this.#lines.push(chunk)) {
      if (line !== '') {
        this.#field(this.#atStart ? line.replace(/^\uFEFF/, '') : line);
        this.#atStart = false;
        continue;
      }
      this.#atStart = false;
      if (this.#data !== undefined) yield this.#take(this.#data);
      this.#event = '';
    }
  }

  #take(data: string): SseEvent {
    const event: { -readonly [Key in keyof SseEvent]: SseEvent[Key] } = {
      event: this.#event === '' ? 'message' : this.#event,
      data,
    };
    if (this.#id !== '') event.id = this.#id;
    if (this.#retry !== undefined) event.retry = this.#retry;
    this.#data = undefined;
    return event;
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    switch (name) {
      case 'data':
        this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
        return;
      case 'event':
        this.#event = value;
        return;
      case 'id':
        if (!value.includes('\0')) this.#id = value;
        return;
      case 'retry':
        if (/^[0-9]{1,15}$/.test(value)) this.#retry = Number(value);
        return;
    }
  }
}
