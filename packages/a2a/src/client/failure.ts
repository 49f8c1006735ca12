// Errors of the SDK and of agents as failures of ours. What the agent wrote goes to
// `details.upstream`, cleaned and bounded, never to the message.

import {
  FabricError,
  fromMeaning,
  rpcMeaning,
  type StatusMeaning,
  statusMeaning,
  TOOL_ERROR,
  toFields,
} from '@starloom/core';
import type { Excerpt } from '@starloom/wire';
import { failure } from '../reasons.ts';

/** The reasons that A2A itself names. */
const BY_REASON = {
  TASK_NOT_FOUND: 'unknown_task',
  TASK_NOT_CANCELABLE: 'not_cancelable',
  PUSH_NOTIFICATION_NOT_SUPPORTED: 'unsupported',
  UNSUPPORTED_OPERATION: 'unsupported',
  CONTENT_TYPE_NOT_SUPPORTED: 'content_type/unsupported',
  EXTENSION_SUPPORT_REQUIRED: 'extension_required',
  VERSION_NOT_SUPPORTED: 'unsupported_version',
} as const;

const INVALID_PARAMS = -32_602;
const INTERNAL_ERROR = -32_603;

/** Statuses of gRPC by the status of HTTP that means the same. */
const TO_HTTP: Readonly<Record<number, number>> = { 4: 504, 5: 404, 7: 403, 8: 429, 16: 401 };

type Key =
  | (typeof BY_REASON)[keyof typeof BY_REASON]
  | 'bad_answer'
  | 'connection_lost'
  | 'result_too_large'
  | 'unreachable';

/** Any thrown value of an exchange with an agent. */
export function toFailure(error: unknown, excerpt: Excerpt): FabricError {
  const own = ownFailure(error);
  if (own) return own;
  const described = describe(error);
  const { message, reason, rpcCode, status } = described;
  const upstream = {
    ...(reason !== '' && { reason }),
    ...(rpcCode !== undefined && { code: rpcCode }),
    ...(status !== undefined && { status }),
    ...(message !== '' && { message: excerpt(message) }),
  };
  const meaning = meaningOf(described);
  return typeof meaning === 'string'
    ? failure(meaning, { upstream }, { cause: error })
    : fromMeaning(meaning, upstream, error);
}

/** Whether the connection broke, and the task may go on without it. */
export function isLostConnection({ code, details }: FabricError): boolean {
  if (code === 'AGENT_OFFLINE') return true;
  return code === 'UPSTREAM_ERROR' && details.reason === 'connection_lost';
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
  readonly rpcCode: number | undefined;
  readonly grpcStatus: number | undefined;
  /** Of HTTP. */
  readonly status: number | undefined;
}

/** An event of a stream that is an error is wrapped once more by the SDK. */
function describe(error: unknown): Described {
  const isPlain = error instanceof Error && !('reason' in error) && error.cause instanceof Error;
  const fields = toFields(isPlain ? error.cause : error);
  const message = typeof fields.message === 'string' ? fields.message : '';
  return {
    message: message.replace(/^gRPC error( for \w+)?: \d+ /, ''),
    reason: typeof fields.reason === 'string' ? fields.reason : '',
    rpcCode: numberOf(fields.envelopeCode),
    grpcStatus: fields.transport === 'grpc' ? numberOf(fields.status) : undefined,
    status: numberOf(fields.statusCode),
  };
}

function meaningOf(described: Described): Key | StatusMeaning {
  const { message, reason, rpcCode, grpcStatus, status } = described;
  if (grpcStatus === 14 && NEVER_CONNECTED.test(message)) return 'unreachable';
  if (grpcStatus === 8 && /larger than max/i.test(message)) return 'result_too_large';
  if (rpcCode !== undefined && rpcMeaning(rpcCode).reason !== TOOL_ERROR)
    return rpcMeaning(rpcCode);
  if (Object.hasOwn(BY_REASON, reason)) return BY_REASON[reason as keyof typeof BY_REASON];
  if (reason === 'INVALID_PARAMS') return rpcMeaning(INVALID_PARAMS);
  if (reason === 'INVALID_AGENT_RESPONSE') return rpcMeaning(INTERNAL_ERROR);
  if (grpcStatus !== undefined) return ofGrpc(grpcStatus);
  if (status !== undefined) return ofHttp(status);
  if (rpcCode !== undefined) return rpcMeaning(rpcCode);
  return reason === '' ? 'bad_answer' : rpcMeaning(INTERNAL_ERROR);
}

function ofGrpc(status: number): Key | StatusMeaning {
  if (status === 3) return rpcMeaning(INVALID_PARAMS);
  if (status === 12) return 'unsupported';
  if (status === 14) return 'connection_lost';
  const http = TO_HTTP[status];
  return http === undefined ? rpcMeaning(INTERNAL_ERROR) : statusMeaning(http);
}

/** By the table of all adapters, but a refusal is the agent's own answer whatever its status. */
function ofHttp(status: number): StatusMeaning {
  if (status >= 400 && status < 500) return rpcMeaning(0);
  return { ...rpcMeaning(INTERNAL_ERROR), code: statusMeaning(status).code };
}

const NEVER_CONNECTED = /No connection established|Name resolution failed|ECONNREFUSED/;

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** The agent refused to let us join the task, because it is over or for another reason. */
export function isAnsweredWithError({ code, details }: FabricError): boolean {
  if (code === 'CAPABILITY_NOT_FOUND' || code === 'BAD_INPUT') return true;
  const reasons: readonly unknown[] = ['rpc_error', TOOL_ERROR];
  return code === 'UPSTREAM_ERROR' && reasons.includes(details.reason);
}

const UNREADABLE: ReadonlySet<unknown> = new Set([
  'bad_answer',
  'invalid_json',
  'unsupported',
  'method_not_found',
]);

/** The streams of the agent cannot be read; neither the connection nor the task failed. */
export function isBrokenStream({ code, details }: FabricError): boolean {
  const isAgents = code === 'UPSTREAM_ERROR' || code === 'CAPABILITY_NOT_FOUND';
  return isAgents && UNREADABLE.has(details.reason);
}

export function lostTask(error: FabricError): FabricError {
  if (error.details.reason !== 'unknown_task') return error;
  return failure('task_lost', { upstream: error.details.upstream }, { cause: error });
}
