// Errors and ends of a turn as ours. A refusal, and a turn that the agent cut short, are its own
// answer; an error inside the agent is none, and another agent may be asked.

import { RequestError, type StopReason } from '@agentclientprotocol/sdk';
import { type ErrorCode, FabricError, TOOL_ERROR, toFields } from '@starloom/core';
import type { Excerpt } from '@starloom/wire';
import { isErrorPayload, reportedError } from '../upstream/reported-error.ts';

interface Row {
  readonly code: ErrorCode;
  readonly reason: string;
  readonly message: string;
  readonly fix: string;
}

const AUTH_REQUIRED = -32_000;
const NOT_FOUND = -32_002;
const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;

const ROWS: Readonly<Record<number, Row>> = {
  [AUTH_REQUIRED]: {
    code: 'AUTH_DENIED',
    reason: 'agent_denied',
    message: 'The agent wants a login',
    fix: 'log in with the program of the agent, or set endpoint.env and options.auth_method',
  },
  [METHOD_NOT_FOUND]: {
    code: 'CAPABILITY_NOT_FOUND',
    reason: 'method_not_found',
    message: 'The agent does not know this method',
    fix: 'check options of the agent against what it supports',
  },
  [INVALID_PARAMS]: {
    code: 'BAD_INPUT',
    reason: 'invalid_params',
    message: 'The agent refused the input',
    fix: 'see details.upstream',
  },
  [NOT_FOUND]: {
    code: 'BAD_INPUT',
    reason: 'not_found',
    message: 'The agent does not have what the call names',
    fix: 'see details.upstream',
  },
};

const FAILED: Row = {
  code: 'UPSTREAM_ERROR',
  reason: 'rpc_error',
  message: 'The agent failed',
  fix: 'see details.upstream and the log of the agent',
};

/** Errors of JSON-RPC itself, and of a request that the agent gave up. */
const FAILURES: ReadonlySet<number> = new Set([-32_700, -32_600, -32_603, -32_800]);

export function toFailure(error: unknown, excerpt: Excerpt): FabricError {
  if (FabricError.is(error)) return error;
  if (!isRequestError(error)) return FabricError.from(error);
  const { code, data } = error;
  if (isErrorPayload(data)) return reportedError(data.error, excerpt);
  const own = { ...FAILED, reason: TOOL_ERROR };
  const row = ROWS[code] ?? (FAILURES.has(code) ? FAILED : own);
  const text = detailOf(data);
  const upstream = {
    code,
    message: excerpt(error.message),
    ...(text !== undefined && { details: excerpt(text) }),
  };
  return new FabricError(row.code, row.message, {
    details: { reason: row.reason, upstream, fix: row.fix },
  });
}

/** An agent that stopped before it was done: `undefined` when it was. */
export function stopFailure(stop: StopReason, said: string): FabricError | undefined {
  if (stop === 'end_turn') return undefined;
  const message = STOPS[stop] ?? 'The agent ended the turn for a reason that is not known here';
  return new FabricError('UPSTREAM_ERROR', message, {
    details: {
      reason: TOOL_ERROR,
      upstream: { stop_reason: stop, ...(said !== '' && { text: said }) },
      fix: stop === 'refusal' ? 'ask for something else' : 'go on in the same conversation',
    },
  });
}

const STOPS: Readonly<Record<string, string>> = {
  max_tokens: 'The agent reached the longest answer its model gives',
  max_turn_requests: 'The agent reached the number of steps it may take',
  refusal: 'The agent refused the request',
  cancelled: 'The agent cancelled the turn by itself',
};

/** The SDK checks what the agent answers; two copies of it may meet, so by its shape. */
function isRequestError(error: unknown): error is RequestError {
  if (error instanceof RequestError) return true;
  return error instanceof Error && error.name === 'RequestError';
}

function detailOf(data: unknown): string | undefined {
  const { details, message } = toFields(data);
  return [data, details, message].find((text): text is string => typeof text === 'string');
}
