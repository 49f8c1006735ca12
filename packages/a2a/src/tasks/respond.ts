// Answers of the A2A bindings: one document, or a stream that begins when its first item is there, so
// that what fails before is an answer of its own.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createTrace, type ErrorRow, FabricError, type Trace } from '@starloom/core';
import { createSseWriter, type Refusal, SSE_HEADERS, toRefusalHeaders } from '@starloom/wire';

const KEEP_ALIVE_MS = 15_000;

/** One request over HTTP, whose body its server has read and checked. */
export interface A2aExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** The parsed body of a POST. */
  readonly body: unknown;
  /** How it is observed. */
  readonly seen: {
    /** Its method is known. */
    isFor(method: string): void;
    fail(error: unknown): void;
    answeredWith(error: unknown): void;
  };
  /** It stays open for as long as the client likes: a shutdown does not wait for it. */
  readonly detach: () => void;
}

interface Document {
  readonly status: number;
  readonly contentType: string;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export function respond(
  response: ServerResponse,
  { status, contentType, body, headers }: Document,
): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(body);
  const length = { 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, { 'content-type': contentType, ...headers, ...length }).end(text);
}

/** Throws what the stream throws before its first item; a later failure is its last event. */
export async function respondStream(
  response: ServerResponse,
  items: AsyncGenerator<unknown, void>,
  toFailure: (error: unknown) => unknown,
): Promise<void> {
  let next = await items.next();
  response.writeHead(200, SSE_HEADERS);
  await using stream = createSseWriter(response, { keepAliveMs: KEEP_ALIVE_MS });
  try {
    for (; !next.done; next = await items.next()) {
      await stream.send({ data: JSON.stringify(next.value) });
    }
  } catch (error) {
    if (response.destroyed) return;
    await stream.send({ event: 'error', data: JSON.stringify(toFailure(error)) }).catch(() => {});
  } finally {
    await items.return();
  }
}

// What goes wrong on `/a2a`, in the words of A2A: its codes and `google.rpc.ErrorInfo`; our own payload
// stands beside them as a detail. Everything here throws FabricErrors; these functions write them.

type Row = Pick<ErrorRow, 'rpc' | 'http' | 'grpc'>;

/** The errors that the protocol names, by the reason in `ErrorInfo`. */
const NAMED = {
  TASK_NOT_FOUND: row(-32001, 404, 'NOT_FOUND'),
  TASK_NOT_CANCELABLE: row(-32002, 400, 'FAILED_PRECONDITION'),
  UNSUPPORTED_OPERATION: row(-32004, 400, 'FAILED_PRECONDITION'),
  CONTENT_TYPE_NOT_SUPPORTED: row(-32005, 400, 'INVALID_ARGUMENT'),
  VERSION_NOT_SUPPORTED: row(-32009, 400, 'FAILED_PRECONDITION'),
  INVALID_PARAMS: row(-32602, 400, 'INVALID_ARGUMENT'),
} as const satisfies Record<string, Row>;

type A2aReason = keyof typeof NAMED;

const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';
const STRUCT = 'type.googleapis.com/google.protobuf.Struct';
const A2A_DOMAIN = 'a2a-protocol.org';
const OWN_DOMAIN = 'io.starloom';

/** Where a request was sent to, as far as it decides how it is answered. */
export type Binding = 'json-rpc' | 'rest';

/** An error that A2A has a name for. */
export function a2aError(
  a2a: A2aReason,
  message: string,
  details: Record<string, unknown> = {},
): FabricError {
  return new FabricError('BAD_INPUT', message, {
    details: { reason: a2a.toLowerCase(), ...details, a2a },
  });
}

/** The `error` of a JSON-RPC response; the same codes in 0.3. */
export function toRpcError(thrown: unknown, trace: Trace | null) {
  const { error, rpc, details } = describeFailure(thrown, trace);
  return { code: rpc, message: error.message, data: details };
}

/** As AIP-193 has it. */
export function toRestError(thrown: unknown, trace: Trace | null) {
  const { error, http, status, details } = describeFailure(thrown, trace);
  return { error: { code: http, status, message: error.message, details } };
}

/** A refusal before the request reached its agent, or in place of a stream. */
export function toA2aRefusal(
  thrown: unknown,
  id: string | number | null,
  binding: Binding,
  trace: Trace = createTrace(),
): Refusal {
  const { http, error } = describeFailure(thrown, trace);
  const isRest = binding === 'rest';
  const type = isRest ? 'application/a2a+json' : 'application/json';
  const body = isRest
    ? toRestError(thrown, trace)
    : { jsonrpc: '2.0', id, error: toRpcError(thrown, trace) };
  const headers = toRefusalHeaders(error, http, type);
  return { status: http, headers, body: JSON.stringify(body) };
}

/** Of errors that the SDK throws, in whichever of its modules. */
const SDK_ERROR = Symbol.for('@a2a-js/sdk.A2AError');

function fromSdk(thrown: unknown): FabricError {
  if (!(thrown instanceof Error) || !(SDK_ERROR in thrown)) return FabricError.from(thrown);
  const reason = Reflect.get(thrown, 'reason');
  const isNamed = typeof reason === 'string' && Object.hasOwn(NAMED, reason);
  return a2aError(isNamed ? (reason as A2aReason) : 'INVALID_PARAMS', thrown.message);
}

/** What every binding writes, each in its own form. */
export function describeFailure(thrown: unknown, trace: Trace | null) {
  const error = fromSdk(thrown);
  const { http_status, rpc_code, a2a, ...ours } = error.details;
  const reason = reasonOf(error);
  const named: Row | undefined = reason === undefined ? undefined : NAMED[reason];
  const http = typeof http_status === 'number' ? http_status : (named?.http ?? error.row.http);
  const rpc = typeof rpc_code === 'number' ? rpc_code : (named?.rpc ?? rpcOf(http));
  const status = named?.grpc ?? (http === 404 ? 'NOT_FOUND' : error.row.grpc);
  const info = {
    '@type': ERROR_INFO,
    reason: reason ?? error.code,
    domain: reason === undefined ? OWN_DOMAIN : A2A_DOMAIN,
    metadata: { code: error.code, ...(trace && { trace_id: trace.trace_id }) },
  };
  const { code, message } = error;
  const payload = new FabricError(code, message, { details: ours }).toPayload(trace);
  const details = [info, { '@type': STRUCT, value: payload }];
  return { error, http, rpc, status, reason: info.reason, details };
}

function reasonOf({ code, details }: FabricError): A2aReason | undefined {
  const { a2a, http_status, rpc_code } = details;
  if (typeof a2a === 'string' && Object.hasOwn(NAMED, a2a)) return a2a as A2aReason;
  if (code === 'JOB_NOT_FOUND') return 'TASK_NOT_FOUND';
  const isPlain = http_status === undefined && rpc_code === undefined;
  return code === 'BAD_INPUT' && isPlain ? 'INVALID_PARAMS' : undefined;
}

/** JSON-RPC has no codes of its own for who may ask, and A2A none for what is not served here. */
function rpcOf(http: number): number {
  if (http === 404 || http === 405) return METHOD_NOT_FOUND;
  return http === 401 || http === 403 || http === 413 ? INVALID_REQUEST : INTERNAL_ERROR;
}

function row(rpc: number, http: number, grpc: Row['grpc']): Row {
  return { rpc, http, grpc };
}
