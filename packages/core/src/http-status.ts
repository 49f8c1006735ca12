// The one table from HTTP statuses to our codes, for every protocol over HTTP. A 4xx that speaks of
// the request itself is the agent's own answer: no other agent is asked the same.

import { type ErrorCode, FabricError, TOOL_ERROR } from './errors.ts';

export interface StatusMeaning {
  readonly code: ErrorCode;
  readonly reason: string;
  readonly message: string;
  readonly fix: string;
}

export interface StatusAnswer {
  readonly status: number;
  /** The start of the body, already cleaned and bounded. */
  readonly text?: string | undefined;
  readonly retryAfter?: string | undefined;
}

const AUTH_DENIED: StatusMeaning = {
  code: 'AUTH_DENIED',
  reason: 'agent_denied',
  message: 'The agent did not accept our credentials',
  fix: 'check endpoint.headers of the agent',
};

const TIMEOUT: StatusMeaning = {
  code: 'TIMEOUT',
  reason: 'agent_timeout',
  message: 'The agent ran out of time',
  fix: 'call again, or raise the timeout at the agent',
};

const MEANINGS: Readonly<Record<number, StatusMeaning>> = {
  401: AUTH_DENIED,
  403: AUTH_DENIED,
  404: {
    code: 'CAPABILITY_NOT_FOUND',
    reason: 'not_found',
    message: 'The agent does not serve this address',
    fix: 'check endpoint.uri of the agent',
  },
  408: TIMEOUT,
  429: {
    code: 'RATE_LIMITED',
    reason: 'agent_rate_limit',
    message: 'The agent takes no more calls for now',
    fix: 'call again later',
  },
  503: {
    code: 'AGENT_OFFLINE',
    reason: 'agent_unavailable',
    message: 'The agent is unavailable',
    fix: 'call again when the agent is back',
  },
  504: TIMEOUT,
};

const REDIRECT: StatusMeaning = {
  code: 'UPSTREAM_ERROR',
  reason: 'redirect',
  message: 'The agent answered with a redirect, and redirects are not followed',
  fix: 'use the final address as endpoint.uri',
};

const REFUSED: StatusMeaning = {
  code: 'UPSTREAM_ERROR',
  reason: TOOL_ERROR,
  message: 'The agent refused the request',
  fix: 'see details.upstream, then correct the arguments',
};

const FAILED: StatusMeaning = {
  code: 'UPSTREAM_ERROR',
  reason: 'http_status',
  message: 'The agent failed',
  fix: 'see details.upstream and the log of the agent',
};

export function statusMeaning(status: number): StatusMeaning {
  const known = MEANINGS[status];
  if (known) return known;
  if (status >= 300 && status < 400) return REDIRECT;
  return status >= 400 && status < 500 ? REFUSED : FAILED;
}

/** The failure that an answer with this status is. */
export function statusFailure({ status, text, retryAfter }: StatusAnswer): FabricError {
  const { code, reason, message, fix } = statusMeaning(status);
  const upstream = { status, ...(text ? { text } : {}) };
  const retry_after_ms = parseRetryAfter(retryAfter, Date.now());
  return new FabricError(code, `${message} (HTTP status ${status})`, {
    details: {
      reason,
      status,
      upstream,
      fix,
      ...(retry_after_ms === undefined ? {} : { retry_after_ms }),
    },
  });
}

/** Seconds or a date, as milliseconds from `now`; `undefined` when it is neither. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}(\.\d+)?$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
