import { type SseEvent, SseParser } from '@starloom/wire';
import { type AnswerLimits, type AnswerReader, answerError } from './answer-reader.ts';

export interface SseListener {
  event(event: SseEvent): void;
  /** The stream is over; throws when it must not be yet. */
  ended(): void;
}

/** An answer that is a stream of events. */
export class SseReader implements AnswerReader {
  readonly #limit: number;
  readonly #parser: SseParser;
  readonly #listener: SseListener;
  #bytes = 0;

  constructor({ maxResultBytes, maxStreamBytes }: AnswerLimits, listener: SseListener) {
    this.#limit = maxStreamBytes;
    this.#parser = new SseParser({ maxEventBytes: maxResultBytes });
    this.#listener = listener;
  }

  push(chunk: Buffer): Iterator<unknown> {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#limit) {
      throw answerError('The agent streamed more than it may', {
        reason: 'stream_too_large',
        limit: this.#limit,
        fix: 'answer with less, or raise max_stream_bytes',
      });
    }
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
