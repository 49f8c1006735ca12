// The tables from errors of sockets, HTTP statuses and error codes of JSON-RPC to our codes, for every
// protocol that uses them. A 4xx that speaks of the request itself is the agent's own answer: no other agent is asked the same.

import { type ErrorCode, FabricError, TOOL_ERROR } from './errors.ts';
import { failure } from './reasons.ts';

interface ConnectionProgress {
  /** Whether the request may have reached the agent, in whole or in part. */
  readonly sent: boolean;
  /** Whether a part of the answer came. */
  readonly answered: boolean;
}

const UNREACHABLE: ReadonlySet<unknown> = new Set([
  'refused',
  'unknown_host',
  'connect_timeout',
  'tls',
  'unreachable',
]);

/** A failure of the connection, by how far the exchange had come. */
export function connectionFailure(
  cause: Error,
  { sent, answered }: ConnectionProgress,
): FabricError {
  if (FabricError.is(cause)) return sent ? cause : cause.with({ sent: false });
  const code = socketErrorCode(cause) ?? cause.name;
  const unsent = sent ? {} : { sent: false };
  if (code === 'UND_ERR_INVALID_ARG') {
    return new FabricError('INTERNAL', 'The request could not be made', { details: unsent, cause });
  }
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') {
    return failure('closed', unsent, { cause });
  }
  if (!sent) {
    const facts = { why: CAUSES[code] ?? code, reason: unreachableReason(cause), cause: code };
    return failure('unreachable', facts, { cause });
  }
  if (cause.name === 'HTTPParserError' || code === 'UND_ERR_HEADERS_OVERFLOW') {
    return failure('invalid_http', {}, { cause });
  }
  const key = answered ? 'connection_lost/answer' : 'connection_lost';
  return failure(key, { cause: code }, { cause });
}

/** Whether the agent could not be reached, or went away. */
export function isAway({ code, details }: FabricError): boolean {
  if (details.reason === 'connection_lost' || details.reason === 'agent_unavailable') return true;
  return code === 'AGENT_OFFLINE' && UNREACHABLE.has(details.reason);
}

/** Why the connection failed, as `details.reason`. */
export function unreachableReason(cause: unknown): string {
  const code = socketErrorCode(cause) ?? '';
  if (code === 'ECONNREFUSED') return 'refused';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'unknown_host';
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'connect_timeout';
  return /CERT|TLS|SSL/.test(code) ? 'tls' : 'unreachable';
}

/** The code of an error, or of what caused it; of several attempts, that of the first. */
export function socketErrorCode(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const [first] = thrown instanceof AggregateError ? thrown.errors : [];
  if ('code' in thrown && typeof thrown.code === 'string') return thrown.code;
  return socketErrorCode(first ?? thrown.cause);
}

/** What the codes of sockets mean, in words for people. */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at its address',
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name could not be looked up',
  UND_ERR_CONNECT_TIMEOUT: 'its address does not answer',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
};

interface StatusAnswer {
  readonly status: number;
  /** The start of the body, already cleaned and bounded. */
  readonly text?: string | undefined;
  readonly retryAfter?: string | undefined;
}

const REASONS: Readonly<Record<number, StatusReason>> = {
  401: 'agent_denied',
  403: 'agent_denied',
  404: 'not_found',
  408: 'agent_timeout',
  429: 'agent_rate_limit',
  503: 'agent_unavailable',
  504: 'agent_timeout',
};

type StatusReason =
  | 'agent_denied'
  | 'agent_timeout'
  | 'not_found'
  | 'agent_rate_limit'
  | 'agent_unavailable'
  | 'redirect'
  | typeof TOOL_ERROR
  | 'http_status';

export interface StatusMeaning {
  readonly code: ErrorCode;
  readonly reason: string;
  readonly message: string;
  readonly fix: string;
}

export function statusMeaning(status: number): StatusMeaning {
  const reason = REASONS[status] ?? otherReason(status);
  return { reason, ...failure.rows[reason] };
}

function otherReason(status: number): StatusReason {
  if (status >= 300 && status < 400) return 'redirect';
  return status >= 400 && status < 500 ? TOOL_ERROR : 'http_status';
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

const FAILED: StatusMeaning = {
  code: 'UPSTREAM_ERROR',
  reason: 'rpc_error',
  message: 'The agent answered with an error',
  fix: 'see details.upstream and the log of the agent',
};

const ANSWERED: StatusMeaning = { ...FAILED, reason: TOOL_ERROR, fix: 'see details.upstream' };

const MEANINGS: Readonly<Record<number, StatusMeaning>> = {
  [-32_700]: FAILED,
  [-32_600]: FAILED,
  [-32_601]: {
    code: 'CAPABILITY_NOT_FOUND',
    reason: 'method_not_found',
    message: 'The agent does not know this method',
    fix: 'check what the agent supports',
  },
  [-32_602]: {
    code: 'BAD_INPUT',
    reason: 'invalid_params',
    message: 'The agent refused the arguments',
    fix: 'see details.upstream, then correct the arguments',
  },
  [-32_603]: FAILED,
};

/** What an error code of JSON-RPC means; one that is not named is the agent's own answer. */
export function rpcMeaning(code: number): StatusMeaning {
  return MEANINGS[code] ?? ANSWERED;
}
