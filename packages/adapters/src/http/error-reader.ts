import { statusFailure } from '@starloom/core';
import type { Excerpt } from '@starloom/wire';
import { isErrorPayload, reportedError } from '../upstream/reported-error.ts';
import type { AnswerHead, AnswerReader } from './answer-reader.ts';
import { BoundedBody } from './bounded-body.ts';

const READ_LIMIT = 16_384;

/** An answer whose status is no success: an error payload of ours, or else what the status says. */
export class ErrorReader implements AnswerReader {
  readonly #head: AnswerHead;
  readonly #excerpt: Excerpt;
  readonly #body = new BoundedBody(READ_LIMIT);

  constructor(head: AnswerHead, excerpt: Excerpt) {
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
