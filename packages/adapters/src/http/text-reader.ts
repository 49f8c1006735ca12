import { isUtf8 } from 'node:buffer';
import { BoundedBody } from '@starloom/wire';
import { type AnswerLimits, type AnswerReader, answerError } from './answer-reader.ts';

/** An answer that is one text, all of it in memory before it is looked at. */
export class TextReader implements AnswerReader {
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
    if (Number(contentLength) > maxResultBytes) throw this.#tooLarge();
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
    this.#onText(bytes.toString('utf8'));
  }

  #tooLarge() {
    return answerError('The agent sent an answer over the size limit', {
      reason: 'result_too_large',
      limit: this.#limit,
      fix: 'answer with less, or raise max_result_bytes',
    });
  }
}
