import { type AnswerLimits, answerError } from './answer-reader.ts';

/** Counts the bytes of one stream, of whatever form. */
export class StreamLimit {
  readonly #limit: number;
  #bytes = 0;

  constructor({ maxStreamBytes }: AnswerLimits) {
    this.#limit = maxStreamBytes;
  }

  /** Throws when the stream is larger than it may be. */
  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#limit) return;
    throw answerError('The agent streamed more than it may', {
      reason: 'stream_too_large',
      limit: this.#limit,
      fix: 'answer with less, or raise max_stream_bytes',
    });
  }
}
