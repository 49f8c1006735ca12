import { type SseEvent, SseParser } from '@starloom/wire';
import type { AnswerLimits, AnswerReader } from './answer-reader.ts';
import { StreamLimit } from './stream-limit.ts';

export interface SseListener {
  event(event: SseEvent): void;
  /** The stream is over; throws when it must not be yet. */
  ended(): void;
}

/** An answer that is a stream of events. */
export class SseReader implements AnswerReader {
  readonly #limit: StreamLimit;
  readonly #parser: SseParser;
  readonly #listener: SseListener;

  constructor(limits: AnswerLimits, listener: SseListener) {
    this.#limit = new StreamLimit(limits);
    this.#parser = new SseParser({ maxEventBytes: limits.maxResultBytes });
    this.#listener = listener;
  }

  push(chunk: Buffer): Iterator<unknown> {
    this.#limit.add(chunk);
    return this.#steps(chunk);
  }

  *#steps(chunk: Buffer): Iterator<unknown> {
    for (const event of this.#parser.push(chunk)) {
      this.#listener.event(event);
      yield;
    }
  }

  end(): void {
    this.#listener.ended();
  }
}
