// What errors of an agent mean, as failures of ours. `sent: false` only where the request cannot have
// reached the agent, or was refused before it was looked at.

import type { IncomingHttpHeaders } from 'node:http';
import { ProtocolError, ProtocolErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import {
  bounded,
  type ErrorCode,
  FabricError,
  fromErrorPayload,
  isObject,
  rpcMeaning,
  statusFailure,
} from '@starloom/core';
import type { RpcError } from './agent-transport.ts';
import { failure } from './reasons.ts';

/** Statuses that say more than the JSON-RPC error beside them. */
const TOLD_BY_STATUS: ReadonlySet<number> = new Set([401, 403, 413, 429]);

/** What servers answer with, beside the status, to a session they do not know. */
const SESSION_CODES: ReadonlySet<number> = new Set([-32_000, -32_001, -32_600]);

interface RefusedResponse {
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
  if (isAboutSession(response)) {
    // A server of an older revision asks for a session when it is spoken to in the newer one.
    return inSession
      ? failure('unknown_session', { status })
      : failure('unsupported_version', { status, sent: false });
  }
  const ours = fromErrorPayload(rpc?.data);
  if (ours) return ours.with({ status, rpc });
  if (rpc && !TOLD_BY_STATUS.has(status) && status < 500) return rpcFailure(rpc).with({ status });
  if (status === 404 || status === 405) {
    return failure('not_mcp', { status, upstream: { status, ...(text !== '' && { text }) } });
  }
  const scope = status === 403 ? neededScope(headers['www-authenticate']) : undefined;
  const more = { ...(rpc && { rpc }), ...(scope && { needed_scope: scope }) };
  return statusFailure({ status, text, retryAfter: headers['retry-after'] }).with(more);
}

/** The scopes of RFC 6750 that a token lacks. */
function neededScope(challenge = ''): string | undefined {
  if (!/\berror="?insufficient_scope\b/.test(challenge)) return undefined;
  return /\bscope="([\x21\x23-\x26\x28-\x5b\x5d-\x7e ]{1,1000})"/.exec(challenge)?.[1];
}

/** 404 by the specification; 400 from servers that keep sessions in a table of their own. */
function isAboutSession({ status, text, rpc, inSession }: RefusedResponse): boolean {
  if (status === 404) return inSession && rpc?.code !== ProtocolErrorCode.MethodNotFound;
  if (status !== 400 || !rpc || !SESSION_CODES.has(rpc.code)) return false;
  return /\bsession\b|not initialized|protocol version/i.test(text.slice(0, 500));
}

const HEADER_MISMATCH = -32_020;

/** Codes of MCP itself, beside those of JSON-RPC. */
const OF_MCP = {
  [ProtocolErrorCode.UnsupportedProtocolVersion]: 'unsupported_version',
  [ProtocolErrorCode.MissingRequiredClientCapability]: 'missing_client_capability',
  [HEADER_MISMATCH]: 'header_mismatch',
} as const;

/** What is put right with the agent before a request is given up: `Requests` does so. */
const MISUNDERSTANDINGS: ReadonlySet<string> = new Set(['unsupported_version', 'header_mismatch']);

/** A JSON-RPC error of an agent, which stays in `details.rpc`. One of another Starloom keeps its code. */
export function rpcFailure({ code, message, data }: RpcError): FabricError {
  const rpc = data === undefined ? { code, message } : { code, message, data };
  const ours = fromErrorPayload(data);
  if (ours) return ours.with({ rpc });
  const upstream = { code, message: bounded(message) };
  const own = saysUnknownTool(code, message) ? 'unknown_tool' : ownReason(code);
  if (own) return failure(own, MISUNDERSTANDINGS.has(own) ? { rpc } : { rpc, upstream });
  const meaning = rpcMeaning(code);
  const { reason, fix } = meaning;
  return new FabricError(meaning.code, meaning.message, {
    details: { reason, fix, rpc, upstream },
  });
}

function ownReason(code: number) {
  return Object.hasOwn(OF_MCP, code) ? OF_MCP[code as keyof typeof OF_MCP] : undefined;
}

/** The agent's own JSON-RPC error, when that is what a failure came from. */
export function rpcErrorOf(error: unknown): RpcError | undefined {
  const rpc = FabricError.is(error) ? error.details.rpc : undefined;
  return isRpcError(rpc) ? rpc : undefined;
}

function isRpcError(value: unknown): value is RpcError {
  return isObject(value) && typeof value.code === 'number' && typeof value.message === 'string';
}

function saysUnknownTool(code: number, message: string): boolean {
  if (code !== ProtocolErrorCode.InvalidParams) return false;
  const text = message.slice(0, 200).toLowerCase();
  return text.includes('unknown tool') || (text.includes('tool') && text.includes('not found'));
}

/** Codes that describe the agent itself, not our handshake with it. */
const KEPT: ReadonlySet<ErrorCode> = new Set([
  'AGENT_OFFLINE',
  'AUTH_DENIED',
  'OVERLOADED',
  'POLICY_DENIED',
  'RATE_LIMITED',
  'UPSTREAM_ERROR',
]);

/**
 * Why no connection came about. Nothing of any call was sent, whatever it was. That the transport
 * is closed means nothing: the SDK closes it after every failure.
 */
export function connectFailure(error: unknown, transportFailure?: FabricError): FabricError {
  const broke = transportFailure?.details.reason === 'closed' ? undefined : transportFailure;
  const found = broke ?? fromChain(error) ?? fromStatus(error);
  if (found && KEPT.has(found.code)) return found.with({ sent: false });
  const rpc = error instanceof ProtocolError ? rpcOf(error) : undefined;
  return failure('handshake', { rpc }, { cause: error }).with(found?.details ?? {});
}

/** The SDK wraps what our transports throw. */
function fromChain(error: unknown): FabricError | undefined {
  for (let link = error; link instanceof Error; link = link.cause) {
    if (FabricError.is(link)) return link;
  }
  return undefined;
}

/** A refused probe loses its cause in the SDK, and keeps its status. */
function fromStatus(error: unknown): FabricError | undefined {
  if (!(error instanceof SdkHttpError)) return undefined;
  const { status } = error;
  return refusedFailure({ status, headers: {}, text: '', rpc: undefined, inSession: false });
}

function rpcOf({ code, message, data }: ProtocolError) {
  return data === undefined ? { code, message } : { code, message, data };
}
