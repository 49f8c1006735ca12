// Why coordination refuses. Each reason has a FabricError code for callers in this process and a
// JSON-RPC code for the wire; the wire always gets `data.details`, a sentence, and beside it what a
// program needs to go on (`reason`, `current_version`, `holder` and so on).

import { ERRORS, type ErrorCode, type ErrorDetails, FabricError } from '@starloom/core';

interface Refusal {
  readonly code: ErrorCode;
  readonly rpc: number;
}

export const REASONS = {
  unknown_method: { code: 'BAD_INPUT', rpc: -32601 },
  bad_params: { code: 'BAD_INPUT', rpc: -32602 },
  cursor_from_the_future: { code: 'BAD_INPUT', rpc: -32602 },
  idempotency_key_reused: { code: 'BAD_INPUT', rpc: -32602 },
  not_a_number: { code: 'BAD_INPUT', rpc: -32602 },
  not_a_list: { code: 'BAD_INPUT', rpc: -32602 },
  patch_failed: { code: 'BAD_INPUT', rpc: -32602 },
  not_authorised: { code: 'AUTH_DENIED', rpc: -32001 },
  agent_id_taken: { code: 'AUTH_DENIED', rpc: -32001 },
  role_too_low: { code: 'AUTH_DENIED', rpc: -32001 },
  not_found: { code: 'CAPABILITY_NOT_FOUND', rpc: -32004 },
  conflict: { code: 'BAD_INPUT', rpc: -32013 },
  test_failed: { code: 'BAD_INPUT', rpc: -32013 },
  session_exists: { code: 'BAD_INPUT', rpc: -32013 },
  id_unavailable: { code: 'BAD_INPUT', rpc: -32013 },
  session_suspended: { code: 'BAD_INPUT', rpc: -32013 },
  in_progress: { code: 'OVERLOADED', rpc: -32013 },
  outcome_unknown: { code: 'BAD_INPUT', rpc: -32013 },
  lock_required: { code: 'POLICY_DENIED', rpc: -32014 },
  lock_held: { code: 'OVERLOADED', rpc: -32014 },
  deadlock: { code: 'POLICY_DENIED', rpc: -32014 },
  stale_token: { code: 'POLICY_DENIED', rpc: -32015 },
  stale_epoch: { code: 'POLICY_DENIED', rpc: -32015 },
  quota: { code: 'RATE_LIMITED', rpc: -32016 },
} as const satisfies Record<string, Refusal>;

export type Reason = keyof typeof REASONS;

export const RPC_TITLES: Readonly<Record<number, string>> = {
  [-32700]: 'Parse error',
  [-32600]: 'Invalid Request',
  [-32601]: 'Method not found',
  [-32602]: 'Invalid params',
  [-32603]: 'Internal error',
  [-32001]: 'Not authorised',
  [-32004]: 'Not found',
  [-32013]: 'Conflict',
  [-32014]: 'Lock required or held',
  [-32015]: 'Stale token or epoch',
  [-32016]: 'Quota exceeded',
};

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data: { readonly details: string; readonly [field: string]: unknown };
}

export function refuse(reason: Reason, message: string, details: ErrorDetails = {}): FabricError {
  return new FabricError(REASONS[reason].code, message, { details: { reason, ...details } });
}

/** An unknown and a forbidden session get this same answer. */
export function notFound(what: Thing, id: string, fix: string = WHERE_TO_LOOK[what]): FabricError {
  const forYou = what === 'session' ? ' for you' : '';
  const details = { [`${what}_id`]: id, fix };
  return refuse('not_found', `There is no ${what} "${id}"${forYou}`, details);
}

const WHERE_TO_LOOK = {
  session: 'use the id of a session you belong to; session_manager.list shows them',
  agent: 'agent_registry.list shows them',
  checkpoint: 'session_manager.checkpoints lists those of the session',
  chunk: 'shared_buffer.list shows what is there',
} as const;
type Thing = keyof typeof WHERE_TO_LOOK;

export function overQuota(
  limit: string,
  allowed: number,
  fix: string,
  more: ErrorDetails = {},
): FabricError {
  const details = { limit, allowed, ...more, fix };
  return refuse('quota', `No more than ${allowed} are allowed (${limit})`, details);
}

/** Another request has the idempotency key. */
export function keyReused(): FabricError {
  return refuse('idempotency_key_reused', 'The key was used for another request', {
    fix: 'use a new key for a new request',
  });
}

/** Is it one of these? Then nothing was done. */
export function isRefusal(error: unknown): boolean {
  return FabricError.is(error) && Object.hasOwn(REASONS, String(error.details.reason));
}

export function isReason(error: unknown, reason: Reason): boolean {
  return FabricError.is(error) && error.details.reason === reason;
}

/** The JSON-RPC error of anything thrown; the text of a bug stays in the log. */
export function toRpcError(thrown: unknown): RpcError {
  const error = FabricError.from(thrown);
  const code = rpcCodeOf(error);
  const { message: details, details: fields, code: fabric } = error;
  const message = RPC_TITLES[code] ?? details;
  return { code, message, data: { ...fields, details, code: fabric } };
}

export function protocolError(code: number, details: string, fix: string): RpcError {
  const data = { reason: PROTOCOL_REASONS[code], details, fix };
  return { code, message: RPC_TITLES[code] ?? details, data };
}

const PROTOCOL_REASONS: Readonly<Record<number, string>> = {
  [-32700]: 'not_json',
  [-32600]: 'not_json_rpc',
  [-32602]: 'bad_params',
};

function rpcCodeOf({ code, details }: FabricError): number {
  const { reason } = details;
  if (typeof reason !== 'string' || !Object.hasOwn(REASONS, reason)) return ERRORS[code].rpc;
  const refusal = REASONS[reason as Reason];
  return refusal.code === code ? refusal.rpc : ERRORS[code].rpc;
}
