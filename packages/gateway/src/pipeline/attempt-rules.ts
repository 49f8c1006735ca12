// What one attempt of a call may do: how long it runs, whether it streams, and whether another agent may be
// asked after it failed.

import {
  type Attempt,
  DEFAULT_TIMEOUT_MS,
  type ErrorCode,
  type FabricError,
  protocolOf,
  type ResultFold,
  TOOL_ERROR,
} from '@starloom/core';
import type { CallRequest } from './call-request.ts';
import type { Candidate } from './route.ts';

export function toAttempt({ record }: Candidate, ms: number, code?: ErrorCode): Attempt {
  const { agent_id, node_id } = record.manifest;
  const rounded = Math.round(ms);
  if (code === undefined) return { agent_id, node_id, ok: true, ms: rounded };
  return { agent_id, node_id, ok: false, code, ms: rounded };
}

/** What bounds one attempt: what the caller said, else what the capability says of itself. */
export function timeoutOf({ timeoutMs }: CallRequest, candidate: Candidate): number {
  return timeoutMs ?? ownTimeoutOf(candidate);
}

export function ownTimeoutOf({ capability }: Candidate): number {
  return capability.timeout_ms ?? DEFAULT_TIMEOUT_MS;
}

/** Tool calls are events: an agent that is not asked for any may report none. */
export function wantsEvents({ stream, format }: CallRequest): boolean {
  return stream || format === 'toolcalls';
}

/** Every MCP agent can report progress, whatever its capabilities say of tokens. */
export function canStream({ record, capability }: Candidate): boolean {
  return capability.streaming || protocolOf(record.manifest.endpoint) === 'mcp';
}

/** Only where streaming was promised can it be what broke. */
export function isStreamingPrimary({ kind, capability }: Candidate): boolean {
  return kind === 'primary' && capability.streaming;
}

/** A second attempt at the agent that the call was for is no fallback. */
export function isFallback({ kind }: Candidate): boolean {
  return kind !== 'primary';
}

/** Whether other agents are asked after the agent's own error, as its operator may have said. */
export function fallsBackOnAnswer({ kind, capability }: Candidate, fold: ResultFold): boolean {
  const isNamed = capability.fallback_on?.includes(TOOL_ERROR) ?? false;
  return kind === 'primary' && isNamed && !fold.sawQuestion;
}

export function mayGoElsewhere(
  error: FabricError,
  candidate: Candidate,
  fold: ResultFold,
): boolean {
  const { fallback } = error.row;
  if (fallback === 'no' || fold.sawQuestion) return false;
  if (fallback === 'upstream' && error.details.upstream === undefined) return false;
  const { idempotent } = candidate.capability;
  if (idempotent === true || error.details.sent === false) return true;
  return idempotent === undefined && !fold.sawToolCall;
}
