// Errors and ends of a turn as ours. A refusal, and a turn that the agent cut short, are its own
// answer; an error inside the agent is none, and another agent may be asked.

import { RequestError, type StopReason } from '@agentclientprotocol/sdk';
import { FabricError, fromMeaning, rpcMeaning, toFields } from '@starloom/core';
import type { Excerpt } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { isErrorPayload, reportedError } from '../upstream/reported-error.ts';

const INTERNAL_ERROR = -32_603;
/** Of a request that the agent gave up. */
const REQUEST_CANCELLED = -32_800;

/** Codes of the protocol itself, beside those of JSON-RPC. */
const OF_PROTOCOL = { [-32_000]: 'agent_denied/login', [-32_002]: 'not_found/resource' } as const;

export function toFailure(error: unknown, excerpt: Excerpt): FabricError {
  if (FabricError.is(error)) return error;
  if (!isRequestError(error)) return FabricError.from(error);
  const { code, data } = error;
  if (isErrorPayload(data)) return reportedError(data.error, excerpt);
  const text = detailOf(data);
  const upstream = {
    code,
    message: excerpt(error.message),
    ...(text !== undefined && { details: excerpt(text) }),
  };
  const own = OF_PROTOCOL[code as keyof typeof OF_PROTOCOL];
  if (own) return failure(own, { upstream });
  return fromMeaning(rpcMeaning(code === REQUEST_CANCELLED ? INTERNAL_ERROR : code), upstream);
}

/** The failure of an agent that stopped before it was done; `undefined` when it was done. */
export function stopFailure(stop: StopReason, said: string): FabricError | undefined {
  if (stop === 'end_turn') return undefined;
  const upstream = { stop_reason: stop, ...(said !== '' && { text: said }) };
  if (stop === 'refusal') return failure('tool_error/refused', { upstream });
  const problem = STOPS[stop] ?? 'ended the turn for a reason that is not known here';
  return failure('tool_error/stopped', { problem, upstream });
}

const STOPS: Readonly<Record<string, string>> = {
  max_tokens: 'reached the longest answer its model gives',
  max_turn_requests: 'reached the number of steps it may take',
  cancelled: 'cancelled the turn by itself',
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
