// The failures of a model service, as the table of errors has them. What the service wrote is kept
// short in `details.upstream`, without the keys it was asked with.

import {
  type ErrorCode,
  type ErrorDetails,
  FabricError,
  parseRetryAfter,
  statusMeaning,
  unreachableReason,
} from '@starloom/core';
import { createExcerpt, type Excerpt } from '@starloom/wire';
import { failure } from '../reasons.ts';

interface UpstreamStatus {
  readonly status: number;
  /** The `Retry-After` header, and `retry-after-ms` where a service sends it. */
  readonly retryAfter?: string | undefined;
  readonly retryAfterMs?: string | undefined;
  readonly body?: string | undefined;
}

type ModelReason =
  | 'unreachable/model'
  | 'connection_lost'
  | 'cut_off'
  | 'unreadable_answer'
  | 'answer_too_large'
  | 'unsupported'
  | 'threw'
  | 'silent';

/** The key never shows in what the errors hold. */
export class ModelErrors {
  readonly #model: string;
  /** Fit for `details`: short, and without keys and control characters. */
  readonly excerpt: Excerpt;

  constructor(model: string, key?: string) {
    this.#model = model;
    this.excerpt = createExcerpt({ others: key === undefined ? [] : [key] });
  }

  ofStatus({ status, retryAfter, retryAfterMs, body = '' }: UpstreamStatus): FabricError {
    const row = STATUSES[status] ?? (status >= 500 ? BROKEN : status < 400 ? MOVED : REFUSED);
    const wait = toMilliseconds(retryAfterMs) ?? parseRetryAfter(retryAfter, Date.now());
    return new FabricError(row.code ?? statusMeaning(status).code, row.message, {
      details: {
        model: this.#model,
        status,
        ...(wait !== undefined && { retry_after_ms: wait }),
        ...(body !== '' && { upstream: this.excerpt(body) }),
        fix: row.fix,
      },
    });
  }

  ofConnection(cause: unknown, answered: boolean): FabricError {
    if (FabricError.is(cause)) return cause;
    if (answered) return this.of('connection_lost', {}, cause);
    return this.of('unreachable/model', { reason: unreachableReason(cause) }, cause);
  }

  unreadable(text: string, cause?: unknown): FabricError {
    return this.of('unreadable_answer', { upstream: this.excerpt(text) || undefined }, cause);
  }

  /** A failure of the model that is a row of the table, with what the service or its code said. */
  of(key: ModelReason, facts: ErrorDetails = {}, cause?: unknown): FabricError {
    return failure(key, { model: this.#model, ...facts }, cause === undefined ? {} : { cause });
  }

  /** `said` is the message of an error that the package of the model threw. */
  ofThrown(key: 'unsupported' | 'threw', said: Error): FabricError {
    return this.of(key, { upstream: this.excerpt(said.message) }, said);
  }
}

interface StatusRow {
  /** Where it differs from what the status means to every adapter: the request is the agent's own. */
  readonly code?: ErrorCode;
  readonly message: string;
  readonly fix: string;
}

const BROKEN: StatusRow = {
  message: 'The model service failed',
  fix: 'try again later, or see the status page or the log of the service',
};
const REFUSED: StatusRow = {
  code: 'BAD_INPUT',
  message: 'The model service refused the request',
  fix: 'see details.upstream for the reason',
};
const MOVED: StatusRow = {
  code: 'BAD_INPUT',
  message: 'The model service is somewhere else',
  fix: 'set base_url of the provider to where the service really is',
};
const DENIED: StatusRow = {
  message: 'The model service refused the key',
  fix: 'check the api_key of the provider in agent.json, and what it may use',
};

const STATUSES: Readonly<Record<number, StatusRow>> = {
  401: DENIED,
  402: { ...DENIED, code: 'AUTH_DENIED', fix: 'the account of the key has no credit left' },
  403: DENIED,
  404: { ...REFUSED, fix: 'check model and base_url of the provider in agent.json' },
  408: { message: 'The model service took too long', fix: 'try again' },
  413: { ...REFUSED, fix: 'the conversation is too long for the service: compact it' },
  429: {
    message: 'The model service asks to slow down',
    fix: 'wait for retry_after_ms, or raise the limits of the account',
  },
};

function toMilliseconds(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,9}(\.\d+)?$/.test(header) ? Number(header) : undefined;
}
