import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { type AnswerLimits, type AnswerReader, answerError } from './answer-reader.ts';
import { BoundedBody } from './bounded-body.ts';
import { parseJson } from './translate.ts';

/** An answer that is one JSON document. */
export class JsonReader implements AnswerReader {
  readonly #limit: number;
  readonly #body: BoundedBody;
  readonly #onValue: (value: unknown, bytes: number) => void;

  constructor(
    headers: IncomingHttpHeaders,
    { maxResultBytes }: AnswerLimits,
    onValue: (value: unknown, bytes: number) => void,
  ) {
    this.#limit = maxResultBytes;
    this.#body = new BoundedBody(maxResultBytes);
    this.#onValue = onValue;
    if (Number(headers['content-length']) > maxResultBytes) throw this.#tooLarge();
  }

  push(chunk: Buffer): undefined {
    if (!this.#body.push(chunk)) throw this.#tooLarge();
  }

  end(): void {
    const bytes = this.#body.toBuffer();
    if (!isUtf8(bytes)) {
      const details = { reason: 'invalid_utf8', fix: 'let the agent answer in UTF-8' };
      throw answerError('The agent sent bytes that are not UTF-8', details);
    }
    this.#onValue(parseJson(bytes.toString('utf8')), bytes.length);
  }

  #tooLarge() {
    return answerError('The agent sent an answer over the size limit', {
      reason: 'result_too_large',
      limit: this.#limit,
      fix: 'answer with less, or raise max_result_bytes',
    });
  }
}
