import { statusFailure } from '@starloom/core';
import { BoundedBody, type Excerpt, type HttpHead } from '@starloom/wire';
import { isErrorPayload, reportedError } from '../upstream/reported-error.ts';
import type { AnswerReader } from './answer-reader.ts';

const READ_LIMIT = 16_384;

/** An answer whose status is no success: an error payload of ours, or else what the status says. */
export class ErrorReader implements AnswerReader {
  readonly #head: HttpHead;
  readonly #excerpt: Excerpt;
  readonly #body = new BoundedBody(READ_LIMIT);

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
