// Refusals before a request reaches what it is for, as the contracts write them: HTTP status and a
// JSON-RPC error whose data is the canonical payload; coordination says `data.details` beside it, and
// has one code for all that is not allowed.

import type { ServerResponse } from 'node:http';
import { createTrace, ERRORS, FabricError, type Trace } from '@starloom/core';

export type RefusalDialect = 'payload' | 'details';

export interface Refusal {
  readonly status: number;
  readonly body: string;
  readonly headers: Record<string, string>;
}

export function toRefusal(
  thrown: unknown,
  id: string | number | null,
  dialect: RefusalDialect = 'payload',
  trace: Trace = createTrace(),
): Refusal {
  const error = FabricError.from(thrown);
  const { http_status, rpc_code, ...details } = error.details;
  const status = typeof http_status === 'number' ? http_status : error.row.http;
  const code = typeof rpc_code === 'number' ? rpc_code : rpcCodeOf(error, dialect);
  const { message } = error;
  const payload = new FabricError(error.code, message, { details }).toPayload(trace);
  const data = dialect === 'details' ? { details: message, ...payload } : payload;
  const body = JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } });
  return { status, body, headers: toRefusalHeaders(error, status, 'application/json') };
}

/** What a client needs beside the status: how to authenticate, what is allowed, when to ask again. */
export function toRefusalHeaders(
  error: FabricError,
  status: number,
  contentType: string,
): Record<string, string> {
  return {
    'content-type': contentType,
    ...(status === 401 && { 'www-authenticate': 'Bearer realm="starloom"' }),
    ...(status === 413 && { connection: 'close' }),
    ...(status === 405 && { allow: String(error.details.allow) }),
    ...toLimitHeaders(error),
  };
}

/**
 * When to ask again, for errors that say it: `Retry-After`, and for a limit of rate or cost the
 * `RateLimit` fields of draft-ietf-httpapi-ratelimit-headers.
 */
export function toLimitHeaders({ code, details }: FabricError): Record<string, string> {
  const { reason, limit, window_s, retry_after_ms } = details;
  if (typeof retry_after_ms !== 'number') return {};
  const seconds = Math.max(1, Math.ceil(retry_after_ms / 1_000));
  const retry = { 'retry-after': String(seconds) };
  if (code !== 'RATE_LIMITED' || typeof limit !== 'number' || window_s === undefined) return retry;
  return {
    ...retry,
    'ratelimit-policy': `"${reason}";q=${Math.floor(limit)};w=${window_s}`,
    ratelimit: `"${reason}";r=0;t=${seconds}`,
  };
}

export function writeRefusal(response: ServerResponse, { status, body, headers }: Refusal): void {
  if (response.headersSent || response.destroyed) response.destroy();
  else response.writeHead(status, headers).end(body);
}

function rpcCodeOf({ code, row }: FabricError, dialect: RefusalDialect): number {
  const isForbidden = dialect === 'details' && code === 'POLICY_DENIED';
  return isForbidden ? ERRORS.AUTH_DENIED.rpc : row.rpc;
}
