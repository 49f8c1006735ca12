// The closed table of failures. Every error that leaves a part is a FabricError; every audience
// (JSON-RPC, HTTP, gRPC, shell, fallback, log) reads its row here, and no other file maps codes.

import { isObject, toFields } from './json.ts';
import type { Trace } from './trace.ts';

export interface ErrorRow {
  /** JSON-RPC error code; -32000…-32019 is our range, -32020…-32099 belongs to MCP. */
  readonly rpc: number;
  readonly http: number;
  /** Name of `google.rpc.Code`, for gRPC and A2A. */
  readonly grpc: GrpcCode;
  /** Exit code of the command line. */
  readonly exit: number;
  /** May another agent help? `upstream`: only when the agent said so, not when the gateway did. */
  readonly fallback: 'yes' | 'no' | 'upstream';
  /** May the caller try the same call again? */
  readonly retry: 'yes' | 'no' | 'later' | 'depends';
  readonly log: 'debug' | 'info' | 'warn' | 'error';
}

type GrpcCode =
  | 'ABORTED'
  | 'CANCELLED'
  | 'DEADLINE_EXCEEDED'
  | 'FAILED_PRECONDITION'
  | 'INTERNAL'
  | 'INVALID_ARGUMENT'
  | 'NOT_FOUND'
  | 'PERMISSION_DENIED'
  | 'RESOURCE_EXHAUSTED'
  | 'UNAUTHENTICATED'
  | 'UNAVAILABLE';

export const ERRORS = {
  BAD_INPUT: row(-32602, 400, 'INVALID_ARGUMENT', 2, 'no', 'no', 'info'),
  AUTH_DENIED: row(-32001, 401, 'UNAUTHENTICATED', 3, 'upstream', 'no', 'warn'),
  POLICY_DENIED: row(-32003, 403, 'PERMISSION_DENIED', 3, 'no', 'no', 'warn'),
  CAPABILITY_NOT_FOUND: row(-32004, 404, 'NOT_FOUND', 4, 'yes', 'no', 'info'),
  JOB_NOT_FOUND: row(-32004, 404, 'NOT_FOUND', 4, 'no', 'no', 'info'),
  AGENT_OFFLINE: row(-32005, 503, 'UNAVAILABLE', 5, 'yes', 'yes', 'warn'),
  TIMEOUT: row(-32006, 504, 'DEADLINE_EXCEEDED', 6, 'yes', 'yes', 'warn'),
  UPSTREAM_ERROR: row(-32007, 502, 'INTERNAL', 7, 'yes', 'depends', 'warn'),
  RECURSION_LIMIT: row(-32008, 508, 'INTERNAL', 8, 'no', 'no', 'warn'),
  RATE_LIMITED: row(-32009, 429, 'RESOURCE_EXHAUSTED', 9, 'yes', 'later', 'info'),
  OVERLOADED: row(-32010, 503, 'UNAVAILABLE', 9, 'yes', 'yes', 'warn'),
  MANIFEST_CHANGED: row(-32011, 409, 'ABORTED', 10, 'yes', 'no', 'warn'),
  CANCELLED: row(-32012, 499, 'CANCELLED', 130, 'no', 'no', 'info'),
  INPUT_REQUIRED: row(-32017, 409, 'ABORTED', 11, 'no', 'depends', 'info'),
  INTERNAL: row(-32603, 500, 'INTERNAL', 1, 'yes', 'no', 'error'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;
export type ErrorDetails = Readonly<Record<string, unknown>>;

/** The one failure payload, in results, error bodies, event streams and on the command line. */
export interface ErrorPayload {
  readonly ok: false;
  readonly error: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly details: ErrorDetails;
  };
  readonly trace: Trace | null;
}

/** `details.reason` of an error that the agent itself answered with. */
export const TOOL_ERROR = 'tool_error';

/**
 * `details.reason` of a signal that ends a call here because another worker goes on with it: what
 * runs at the agent is left running.
 */
export const CLAIM_LOST = 'claim_lost';

interface FabricErrorOptions {
  readonly details?: ErrorDetails;
  readonly cause?: unknown;
  readonly answer?: ErrorDetails | undefined;
}

const BRAND = Symbol.for('io.starloom/FabricError');

export class FabricError extends Error {
  override readonly name = 'FabricError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;
  /** The result as the agent wrote it, when the agent itself answered with an error. */
  readonly answer: ErrorDetails | undefined;
  readonly [BRAND] = true;

  constructor(code: ErrorCode, message: string, options: FabricErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.details = options.details ?? {};
    this.answer = options.answer;
  }

  get row(): ErrorRow {
    return ERRORS[this.code];
  }

  /** By brand, not `instanceof`: two copies of this package may meet in one process. */
  static is(value: unknown): value is FabricError {
    return typeof value === 'object' && value !== null && BRAND in value;
  }

  /** Whether the agent itself answered with an error: no other agent is asked, no circuit opens. */
  get isAgentAnswer(): boolean {
    return this.code === 'UPSTREAM_ERROR' && this.details.reason === TOOL_ERROR;
  }

  /** The same error with more details; those already there win. */
  with(details: ErrorDetails): FabricError {
    const { code, message, cause, answer } = this;
    return new FabricError(code, message, {
      details: { ...details, ...this.details },
      cause,
      answer,
    });
  }

  toPayload(trace: Trace | null): ErrorPayload {
    const { code, message, details } = this;
    return { ok: false, error: { code, message, details }, trace };
  }

  /**
   * Any thrown value as a FabricError. Aborts and timeouts keep their meaning; anything else is a
   * bug: its text stays in `cause` for the log and never reaches the caller.
   */
  static from(value: unknown): FabricError {
    if (FabricError.is(value)) return value;
    if (value instanceof Error) {
      if (FabricError.is(value.cause) && value.name === 'AbortError') return value.cause;
      if (value.name === 'AbortError') {
        return new FabricError('CANCELLED', 'The call was cancelled', { cause: value });
      }
      if (value.name === 'TimeoutError') {
        return new FabricError('TIMEOUT', 'The call took too long', { cause: value });
      }
    }
    return new FabricError('INTERNAL', 'Internal error; the log has the detail', { cause: value });
  }
}

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERRORS, value);
}

function row(
  rpc: number,
  http: number,
  grpc: GrpcCode,
  exit: number,
  fallback: ErrorRow['fallback'],
  retry: ErrorRow['retry'],
  log: ErrorRow['log'],
): ErrorRow {
  return { rpc, http, grpc, exit, fallback, retry, log };
}

/** The key of `_meta`, and of metadata of other protocols, that carries an error payload. */
export const ERROR_META_KEY = 'io.starloom/error';

const MAX_TEXT = 2048;

/**
 * What a payload says, or `undefined` when the value is none of ours. Its details are kept, except
 * `sent`: what the agents of another gateway saw says nothing of this call.
 */
export function parseErrorPayload(value: unknown): ErrorPayload['error'] | undefined {
  if (!isObject(value) || value.ok !== false || !isObject(value.error)) return undefined;
  const { code, message, details } = value.error;
  if (!isErrorCode(code)) return undefined;
  const { sent: _, ...kept } = toFields(details);
  return { code, message: typeof message === 'string' ? bounded(message) : code, details: kept };
}

/** The failure another Starloom reported, or `undefined` when the value is no payload of ours. */
export function fromErrorPayload(value: unknown): FabricError | undefined {
  const reported = parseErrorPayload(value);
  if (!reported) return undefined;
  const { code, message, details } = reported;
  return new FabricError(code, message, { details: { upstream: { code }, ...details } });
}

/** The same from JSON text, as far as it is a payload. */
export function fromErrorText(text: string): FabricError | undefined {
  if (!text.startsWith('{"ok":false')) return undefined;
  try {
    return fromErrorPayload(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Cuts text of other programs to a length that fits messages and logs. */
export function bounded(text: string, length: number = MAX_TEXT): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`.toWellFormed();
}
