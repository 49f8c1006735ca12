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
import { withoutInvisible } from '@starloom/wire';

export interface UpstreamStatus {
  readonly status: number;
  /** The `Retry-After` header, and `retry-after-ms` where a service sends it. */
  readonly retryAfter?: string | undefined;
  readonly retryAfterMs?: string | undefined;
  readonly body?: string | undefined;
}

/** `secrets` never show in what the errors hold. */
export class ModelErrors {
  readonly #model: string;
  readonly #secrets: readonly string[];

  constructor(model: string, secrets: readonly (string | undefined)[] = []) {
    this.#model = model;
    this.#secrets = secrets
      .filter((secret) => secret !== undefined)
      .filter((secret) => secret !== '');
  }

  /** An answer whose status is no success. */
  ofStatus({ status, retryAfter, retryAfterMs, body = '' }: UpstreamStatus): FabricError {
    const row = STATUSES[status] ?? (status >= 500 ? BROKEN : status < 400 ? MOVED : REFUSED);
    const wait = toMilliseconds(retryAfterMs) ?? parseRetryAfter(retryAfter, Date.now());
    return this.#error(row.code ?? statusMeaning(status).code, row.message, {
      status,
      ...(wait !== undefined && { retry_after_ms: wait }),
      ...(body !== '' && { upstream: this.excerpt(body) }),
      fix: row.fix,
    });
  }

  /** No connection, or one that broke. */
  ofConnection(cause: unknown, answered: boolean): FabricError {
    if (FabricError.is(cause)) return cause;
    const reason = answered ? 'connection_lost' : unreachableReason(cause);
    const message = answered
      ? 'The model went away before its answer ended'
      : 'The model cannot be reached';
    const fix = 'check that the service runs at the base_url of the provider';
    return this.#error('AGENT_OFFLINE', message, { reason, fix }, cause);
  }

  /** The answer ended in good order, but not at its end. */
  cutOff(): FabricError {
    const fix = 'see the log of the service, or of the proxy before it';
    const details = { reason: 'cut_off', fix };
    return this.#error('AGENT_OFFLINE', 'The answer of the model ended too early', details);
  }

  /** An answer that is not what the API says it is. */
  unreadable(text: string, cause?: unknown): FabricError {
    const fix = 'check that base_url leads to a service of this API';
    const upstream = text === '' ? {} : { upstream: this.excerpt(text) };
    const details = { reason: 'unreadable_answer', ...upstream, fix };
    return this.#error('UPSTREAM_ERROR', 'The answer of the model cannot be read', details, cause);
  }

  tooLarge(limit: number): FabricError {
    const details = { reason: 'answer_too_large', limit_bytes: limit, fix: 'ask for less at once' };
    return this.#error('UPSTREAM_ERROR', 'The answer of the model is too large', details);
  }

  /** The model takes no such content. */
  unsupported(cause: Error): FabricError {
    const fix = 'leave it out, or use a model that takes it';
    const details = { reason: 'unsupported', upstream: this.excerpt(cause.message), fix };
    return this.#error('BAD_INPUT', 'The model does not take this content', details, cause);
  }

  /** The code of the model failed, in a way it does not explain. */
  threw(cause: Error): FabricError {
    const details = { reason: 'threw', upstream: this.excerpt(cause.message), fix: 'see the log' };
    return this.#error('UPSTREAM_ERROR', 'The model failed', details, cause);
  }

  timeout(cause: unknown): FabricError {
    const details = { reason: 'silent', fix: 'check the load of the service' };
    return this.#error('TIMEOUT', 'The model was silent for too long', details, cause);
  }

  /** Fit for `details`: short, and without keys and control characters. */
  excerpt(text: string): string {
    const read = text.slice(0, READ_LIMIT);
    const clean = withoutInvisible(read);
    const safe = this.#secrets.reduce((rest, key) => rest.replaceAll(key, '[redacted]'), clean);
    return safe.trim().slice(0, EXCERPT_LIMIT).toWellFormed();
  }

  #error(code: ErrorCode, message: string, details: ErrorDetails, cause?: unknown): FabricError {
    const options = { details: { model: this.#model, ...details } };
    return new FabricError(code, message, cause === undefined ? options : { ...options, cause });
  }
}

const READ_LIMIT = 16_384;
const EXCERPT_LIMIT = 500;

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
  fix: 'details.upstream says what it does not like',
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
