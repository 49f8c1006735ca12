import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { type AnswerReader, answerError, type ReaderContext } from './answer-reader.ts';
import { BoundedBody } from './bounded-body.ts';
import { fromResult, parseJson } from './translate.ts';

/** An answer that is one JSON document. */
export class JsonReader implements AnswerReader {
  readonly #context: ReaderContext;
  readonly #body: BoundedBody;

  constructor(headers: IncomingHttpHeaders, context: ReaderContext) {
    this.#context = context;
    this.#body = new BoundedBody(context.target.maxResultBytes);
    if (Number(headers['content-length']) > context.target.maxResultBytes) throw this.#tooLarge();
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
    const result = parseJson(bytes.toString('utf8'));
    for (const body of fromResult(result, this.#context.excerpt)) {
      this.#context.emit(body, bytes.length);
    }
  }

  #tooLarge() {
    return answerError('The agent sent an answer over the size limit', {
      reason: 'result_too_large',
      limit: this.#context.target.maxResultBytes,
      fix: 'answer with less, or raise max_result_bytes',
    });
  }
}
