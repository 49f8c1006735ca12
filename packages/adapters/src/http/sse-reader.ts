import { SseParser } from '@starloom/wire';
import { type AnswerReader, answerError, type ReaderContext } from './answer-reader.ts';
import { fromSseEvent } from './translate.ts';

/** An answer that is a stream of events. */
export class SseReader implements AnswerReader {
  readonly #context: ReaderContext;
  readonly #parser: SseParser;
  #bytes = 0;

  constructor(context: ReaderContext) {
    this.#context = context;
    this.#parser = new SseParser({ maxEventBytes: context.target.maxResultBytes });
  }

  push(chunk: Buffer): Iterator<unknown> {
    const { target } = this.#context;
    this.#bytes += chunk.length;
    if (this.#bytes > target.maxStreamBytes) {
      throw answerError('The agent streamed more than it may', {
        reason: 'stream_too_large',
        limit: target.maxStreamBytes,
        fix: 'answer with less, or raise max_stream_bytes',
      });
    }
    return this.#emitAll(chunk);
  }

  *#emitAll(chunk: Buffer): Iterator<unknown> {
    for (const event of this.#parser.push(chunk)) {
      const body = fromSseEvent(event, this.#context.excerpt);
      if (body === undefined) this.#context.passOver(event.event);
      else this.#context.emit(body, event.data.length);
      yield;
    }
  }

  end(): void {
    throw answerError('The stream of the agent ended without a final', {
      reason: 'no_final',
      fix: 'end each stream with a final or an error',
    });
  }
}
