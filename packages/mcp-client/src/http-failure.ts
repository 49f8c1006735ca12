// What went wrong on the way, as failures of ours. `sent: false` only where the request cannot have
// reached the agent, or was refused before anybody looked at it.

import type { IncomingHttpHeaders } from 'node:http';
import { ProtocolErrorCode } from '@modelcontextprotocol/client';
import { type ErrorDetails, FabricError, fromErrorPayload, statusFailure } from '@starloom/core';
import type { RpcError } from './json-rpc.ts';
import { rpcFailure } from './rpc-failure.ts';

/** Statuses that say more than the JSON-RPC error beside them. */
const TOLD_BY_STATUS: ReadonlySet<number> = new Set([401, 403, 413, 429]);

/** What servers answer with, beside the status, to a session they do not know. */
const SESSION_CODES: ReadonlySet<number> = new Set([-32_000, -32_001, -32_600]);

export interface RefusedResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The start of the body, cleaned and bounded. */
  readonly text: string;
  /** What the body says, when it is a JSON-RPC error. */
  readonly rpc: RpcError | undefined;
  readonly inSession: boolean;
}

/** A response that is not the answer asked for. */
export function refusedFailure(response: RefusedResponse): FabricError {
  const { status, headers, text, rpc, inSession } = response;
  if (isAboutSession(response)) return inSession ? unknownSession(status) : wantsSession(status);
  const ours = fromErrorPayload(rpc?.data);
  if (ours) return ours.with({ status, rpc });
  if (rpc && !TOLD_BY_STATUS.has(status) && status < 500) return rpcFailure(rpc).with({ status });
  const retryAfter = headers['retry-after'];
  const scope = status === 403 ? neededScope(headers['www-authenticate']) : undefined;
  if (status === 404 || status === 405) return noEndpoint(status, text);
  const more = { ...(rpc && { rpc }), ...(scope && { needed_scope: scope }) };
  return statusFailure({ status, text, retryAfter }).with(more);
}

/** The scopes of RFC 6750 that a token lacks. */
function neededScope(challenge = ''): string | undefined {
  if (!/\berror="?insufficient_scope\b/.test(challenge)) return undefined;
  return /\bscope="([\x21\x23-\x26\x28-\x5b\x5d-\x7e ]{1,1000})"/.exec(challenge)?.[1];
}

/** An address at which MCP is not served, whatever else may be there. */
function noEndpoint(status: number, text: string): FabricError {
  return new FabricError('UPSTREAM_ERROR', 'The agent does not serve MCP at this address', {
    details: {
      reason: 'not_mcp',
      status,
      upstream: { status, ...(text === '' ? {} : { text }) },
      fix: 'check endpoint.uri of the agent',
    },
  });
}

/** An answer that breaks a rule of ours or of the protocol. */
export function answerFailure(reason: string, message: string, more: ErrorDetails = {}) {
  return new FabricError('UPSTREAM_ERROR', message, { details: { reason, ...more } });
}

/** 404 by the specification; 400 from servers that keep sessions in a table of their own. */
function isAboutSession({ status, text, rpc, inSession }: RefusedResponse): boolean {
  if (status === 404) return inSession && rpc?.code !== ProtocolErrorCode.MethodNotFound;
  if (status !== 400 || !rpc || !SESSION_CODES.has(rpc.code)) return false;
  return /\bsession\b|not initialized|protocol version/i.test(text.slice(0, 500));
}

function unknownSession(status: number): FabricError {
  return new FabricError('AGENT_OFFLINE', 'The agent has forgotten the session', {
    details: { reason: 'unknown_session', status, sent: false },
  });
}

/** So speaks a server of an older revision to whom we spoke in the newer. */
function wantsSession(status: number): FabricError {
  return new FabricError('UPSTREAM_ERROR', 'The agent speaks another revision than agreed on', {
    details: { reason: 'unsupported_version', status, sent: false },
  });
}
