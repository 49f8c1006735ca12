import type { ErrorDetails, FabricError } from '@starloom/core';
import { type AgentErrorCode, agentError } from '../agent-contract/reported-error.ts';

/** What an HTTP status that is no success means to our caller. */
export function statusError(status: number, details: ErrorDetails): FabricError {
  return agentError(CODES[status] ?? 'UPSTREAM_ERROR', { ...details, status });
}

const CODES: Readonly<Record<number, AgentErrorCode>> = {
  400: 'BAD_INPUT',
  401: 'AUTH_DENIED',
  403: 'AUTH_DENIED',
  404: 'CAPABILITY_NOT_FOUND',
  408: 'TIMEOUT',
  422: 'BAD_INPUT',
  429: 'RATE_LIMITED',
  504: 'TIMEOUT',
};

/** Seconds or a date, as milliseconds from `now`; `undefined` when it is neither. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
