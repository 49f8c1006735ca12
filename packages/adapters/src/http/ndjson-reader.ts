import { LineSplitter } from '@starloom/wire';
import type { AnswerLimits, AnswerReader } from './answer-reader.ts';
import { StreamLimit } from './stream-limit.ts';

export interface LineListener {
  line(text: string): void;
  /** As of a stream of events. */
  ended(): void;
}

/** What begins a text of `application/json-seq`, and a file of some editors. */
const MARKS = '\u001E\uFEFF';

/** An answer with one JSON document in each line. */
export class NdjsonReader implements AnswerReader {
  readonly #limit: StreamLimit;
  readonly #lines: LineSplitter;
  readonly #listener: LineListener;

  constructor(limits: AnswerLimits, listener: LineListener) {
    this.#limit = new StreamLimit(limits);
    this.#lines = new LineSplitter({ unit: 'line', limit: limits.maxResultBytes });
    this.#listener = listener;
  }

  push(chunk: Buffer): Iterator<unknown> {
    this.#limit.add(chunk);
    return this.#steps(this.#lines.push(chunk));
  }

  end(): void {
    for (const _ of this.#steps(this.#lines.end()));
    this.#listener.ended();
  }

  *#steps(lines: Iterable<string>): Generator<undefined, void, undefined> {
    for (const line of lines) {
      const text = MARKS.includes(line.charAt(0)) ? line.slice(1) : line;
      if (text.trim() === '') continue;
      this.#listener.line(text);
      yield;
    }
  }
}
