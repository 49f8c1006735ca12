// JSON-RPC errors of an agent as failures of ours; `details.rpc` is the error as it came.

import { ProtocolErrorCode } from '@modelcontextprotocol/client';
import {
  bounded,
  type ErrorCode,
  FabricError,
  fromErrorPayload,
  isObject,
  TOOL_ERROR,
} from '@starloom/core';
import type { RpcError } from './json-rpc.ts';

const HEADER_MISMATCH = -32_020;

interface Row {
  readonly code: ErrorCode;
  readonly reason: string;
  readonly message: string;
}

const ROWS: Readonly<Record<number, Row>> = {
  [ProtocolErrorCode.InvalidParams]: {
    code: 'BAD_INPUT',
    reason: 'invalid_params',
    message: 'The agent refused the arguments',
  },
  [ProtocolErrorCode.MethodNotFound]: {
    code: 'CAPABILITY_NOT_FOUND',
    reason: 'method_not_found',
    message: 'The agent does not know this method',
  },
  [ProtocolErrorCode.UnsupportedProtocolVersion]: {
    code: 'UPSTREAM_ERROR',
    reason: 'unsupported_version',
    message: 'The agent no longer speaks the protocol version agreed on',
  },
  [ProtocolErrorCode.MissingRequiredClientCapability]: {
    code: 'BAD_INPUT',
    reason: 'missing_client_capability',
    message: 'The agent needs a client capability that was not declared',
  },
  [HEADER_MISMATCH]: {
    code: 'UPSTREAM_ERROR',
    reason: 'header_mismatch',
    message: 'The agent says headers and body disagree',
  },
};

/** What is put right with the agent before a request is given up. */
const MISUNDERSTANDINGS: ReadonlySet<string> = new Set(['unsupported_version', 'header_mismatch']);

const UNKNOWN_TOOL: Row = {
  code: 'CAPABILITY_NOT_FOUND',
  reason: 'unknown_tool',
  message: 'The agent does not have this tool',
};

/** The agent failed at it, and another one may not. */
const FAILED: Row = {
  code: 'UPSTREAM_ERROR',
  reason: 'rpc_error',
  message: 'The agent answered with an error',
};

/** The agent's own answer to this call. */
const REFUSED: Row = { ...FAILED, reason: TOOL_ERROR };

const FAILURES: ReadonlySet<number> = new Set([
  ProtocolErrorCode.ParseError,
  ProtocolErrorCode.InvalidRequest,
  ProtocolErrorCode.InternalError,
]);

/** An error of another Starloom keeps its code; others get theirs from the table above. */
export function rpcFailure({ code, message, data }: RpcError): FabricError {
  const rpc = data === undefined ? { code, message } : { code, message, data };
  const ours = fromErrorPayload(data);
  if (ours) return ours.with({ rpc });
  const row = rowOf(code, message);
  const upstream = MISUNDERSTANDINGS.has(row.reason)
    ? {}
    : { upstream: { code, message: bounded(message) } };
  return new FabricError(row.code, row.message, {
    details: { reason: row.reason, rpc, ...upstream },
  });
}

function rowOf(code: number, message: string): Row {
  if (saysUnknownTool(code, message)) return UNKNOWN_TOOL;
  return ROWS[code] ?? (FAILURES.has(code) ? FAILED : REFUSED);
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
