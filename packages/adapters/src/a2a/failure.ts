// Errors of the SDK and of agents as failures of ours. What the agent wrote goes to
// `details.upstream`, cleaned and bounded, never to the message.

import { type ErrorCode, FabricError, statusMeaning, TOOL_ERROR, toFields } from '@starloom/core';
import type { Excerpt } from '@starloom/wire';

interface Row {
  readonly code: ErrorCode;
  readonly reason: string;
  readonly message: string;
}

const UNSUPPORTED: Row = {
  code: 'CAPABILITY_NOT_FOUND',
  reason: 'unsupported',
  message: 'The agent does not support this operation',
};

const FAILED: Row = {
  code: 'UPSTREAM_ERROR',
  reason: 'rpc_error',
  message: 'The agent answered with an error',
};

/** The agent's own answer to this call. */
const REFUSED: Row = { ...FAILED, reason: TOOL_ERROR };

const BAD_ANSWER: Row = {
  code: 'UPSTREAM_ERROR',
  reason: 'bad_answer',
  message: 'The agent does not answer as A2A says',
};

const BAD_INPUT: Row = {
  code: 'BAD_INPUT',
  reason: 'invalid_params',
  message: 'The agent refused the request',
};

/** The reasons that A2A itself names. */
const BY_REASON: Readonly<Record<string, Row>> = {
  TASK_NOT_FOUND: {
    code: 'BAD_INPUT',
    reason: 'unknown_task',
    message: 'The agent does not know the task any more',
  },
  TASK_NOT_CANCELABLE: { ...REFUSED, reason: 'not_cancelable' },
  PUSH_NOTIFICATION_NOT_SUPPORTED: UNSUPPORTED,
  UNSUPPORTED_OPERATION: UNSUPPORTED,
  CONTENT_TYPE_NOT_SUPPORTED: { ...UNSUPPORTED, reason: 'content_type' },
  EXTENSION_SUPPORT_REQUIRED: { ...UNSUPPORTED, reason: 'extension_required' },
  VERSION_NOT_SUPPORTED: { ...UNSUPPORTED, reason: 'unsupported_version' },
  INVALID_AGENT_RESPONSE: FAILED,
  INVALID_PARAMS: BAD_INPUT,
};

const BY_RPC_CODE: Readonly<Record<number, Row>> = {
  [-32_601]: { ...UNSUPPORTED, reason: 'method_not_found' },
  [-32_602]: BAD_INPUT,
  [-32_603]: FAILED,
  [-32_600]: FAILED,
  [-32_700]: FAILED,
};

const AUTH_DENIED: Row = {
  code: 'AUTH_DENIED',
  reason: 'agent_denied',
  message: 'The agent did not accept our credentials',
};

/** By the number of the gRPC status. */
const BY_GRPC_STATUS: Readonly<Record<number, Row>> = {
  3: BAD_INPUT,
  4: { code: 'TIMEOUT', reason: 'agent_timeout', message: 'The agent ran out of time' },
  5: { ...UNSUPPORTED, reason: 'not_found' },
  7: AUTH_DENIED,
  8: {
    code: 'RATE_LIMITED',
    reason: 'agent_rate_limit',
    message: 'The agent takes no more calls for now',
  },
  12: UNSUPPORTED,
  14: { code: 'AGENT_OFFLINE', reason: 'connection_lost', message: 'The agent went away' },
  16: AUTH_DENIED,
};

const UNREACHABLE: Row = {
  code: 'AGENT_OFFLINE',
  reason: 'unreachable',
  message: 'The agent cannot be reached',
};

const TOO_LARGE: Row = {
  code: 'UPSTREAM_ERROR',
  reason: 'result_too_large',
  message: 'The agent sent an answer over the size limit',
};

/** Any thrown value of an exchange with an agent. */
export function toFailure(error: unknown, excerpt: Excerpt): FabricError {
  const own = ownFailure(error);
  if (own) return own;
  const { message, reason, envelopeCode, status, statusCode } = describe(error);
  const row = rowOf(reason, envelopeCode, status, statusCode, message);
  return new FabricError(row.code, row.message, {
    details: {
      reason: row.reason,
      upstream: {
        ...(reason !== '' && { reason }),
        ...(envelopeCode !== undefined && { code: envelopeCode }),
        ...(statusCode !== undefined && { status: statusCode }),
        ...(message !== '' && { message: excerpt(message) }),
      },
      ...(row === UNREACHABLE && { sent: false, fix: 'start the agent, or correct its manifest' }),
    },
    cause: error,
  });
}

/** Whether the connection broke, and the task may go on without it. */
export function isLostConnection({ code, details }: FabricError): boolean {
  if (code === 'AGENT_OFFLINE') return true;
  return code === 'UPSTREAM_ERROR' && details.reason === 'connection_lost';
}

export function badAnswer(message: string, details: Record<string, unknown> = {}): FabricError {
  return new FabricError('UPSTREAM_ERROR', message, {
    details: { reason: 'bad_answer', fix: 'see the log of the agent', ...details },
  });
}

/** One of ours, however deep the SDK wrapped it. */
function ownFailure(error: unknown): FabricError | undefined {
  for (let at: unknown = error, depth = 0; depth < 5 && at !== undefined; depth += 1) {
    if (FabricError.is(at)) return at;
    at = at instanceof Error ? at.cause : undefined;
  }
  return undefined;
}

interface Described {
  readonly message: string;
  readonly reason: string;
  readonly envelopeCode: number | undefined;
  /** Of gRPC. */
  readonly status: number | undefined;
  /** Of HTTP. */
  readonly statusCode: number | undefined;
}

/** An event of a stream that is an error is wrapped once more by the SDK. */
function describe(error: unknown): Described {
  const isPlain = error instanceof Error && !('reason' in error) && error.cause instanceof Error;
  const fields = toFields(isPlain ? error.cause : error);
  const message = typeof fields.message === 'string' ? fields.message : '';
  return {
    message: message.replace(/^gRPC error( for \w+)?: \d+ /, ''),
    reason: typeof fields.reason === 'string' ? fields.reason : '',
    envelopeCode: numberOf(fields.envelopeCode),
    status: fields.transport === 'grpc' ? numberOf(fields.status) : undefined,
    statusCode: numberOf(fields.statusCode),
  };
}

function rowOf(
  reason: string,
  envelopeCode: number | undefined,
  status: number | undefined,
  statusCode: number | undefined,
  message: string,
): Row {
  if (status === 14 && NEVER_CONNECTED.test(message)) return UNREACHABLE;
  if (status === 8 && /larger than max/i.test(message)) return TOO_LARGE;
  const coded = envelopeCode === undefined ? undefined : BY_RPC_CODE[envelopeCode];
  if (coded) return coded;
  const named = BY_REASON[reason];
  if (named) return named;
  if (status !== undefined) return BY_GRPC_STATUS[status] ?? FAILED;
  if (statusCode !== undefined) return rowOfStatus(statusCode);
  if (envelopeCode !== undefined) return REFUSED;
  return reason === '' ? BAD_ANSWER : FAILED;
}

/** By the table of all adapters, but a refusal is the agent's own answer whatever its status. */
function rowOfStatus(status: number): Row {
  if (status >= 400 && status < 500) return REFUSED;
  return { ...FAILED, code: statusMeaning(status).code };
}

const NEVER_CONNECTED = /No connection established|Name resolution failed|ECONNREFUSED/;

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
