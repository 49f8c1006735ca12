// The JSON-RPC binding, by the handlers of the SDK: they read the methods of both versions, and write
// results. Errors are written here, since theirs leave out what failed.

import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { FabricError, type Trace } from '@starloom/core';
import { toLimitHeaders } from '@starloom/wire';
import { failure } from '../reasons.ts';
import type { A2aFace } from './face.ts';
import { type A2aExchange, a2aError, respond, respondStream, toRpcError } from './respond.ts';

export interface RpcResponse {
  readonly jsonrpc: string;
  readonly id: string | number | null;
  readonly result?: unknown;
  readonly error?: unknown;
}

type Handler = JsonRpcTransportHandler | LegacyJsonRpcTransportHandler;

const INTERNAL_ERROR = -32603;
const SUBSCRIPTIONS: ReadonlySet<unknown> = new Set(['SubscribeToTask', 'tasks/resubscribe']);

interface RpcCall {
  readonly exchange: A2aExchange;
  readonly face: A2aFace;
  readonly version: string;
  readonly isLegacy: boolean;
  readonly trace: Trace;
  readonly checks: RpcChecks;
}

/** What the server around knows of JSON-RPC. */
export interface RpcChecks {
  /** Throws for JSON that is no request. */
  readonly assertMessage: (body: unknown) => void;
  readonly idOf: (body: unknown) => string | number | null;
  /** Whether a request was refused because its caller makes too many. */
  readonly isCallerLimit?: (error: FabricError) => boolean;
}

export async function serveJsonRpc(call: RpcCall): Promise<void> {
  const { exchange, face, version, isLegacy, trace, checks } = call;
  const { response, body } = exchange;
  const id = checks.idOf(body);
  const json = (answer: unknown, thrown?: unknown) => toDocument(answer, thrown, checks);
  const toFailure = (error: unknown) => {
    exchange.seen.fail(error);
    return { jsonrpc: '2.0', id, error: toRpcError(error, trace) };
  };
  if (body === undefined) throw failure('not_json/empty');
  const problem = problemWith(body, checks);
  if (problem) return respond(response, json(toFailure(problem)));
  const request = body as Record<string, unknown>;
  const handler: Handler = isLegacy
    ? new LegacyJsonRpcTransportHandler(face)
    : new JsonRpcTransportHandler(face);
  const context = new ServerCallContext({ requestedVersion: version });
  const answered = await handler.handle(request, context);
  if (!isStream(answered)) {
    const answer = withFailure(answered as RpcResponse, face, trace);
    if (!face.failure) exchange.seen.answeredWith(answer.error);
    return respond(response, json(answer, face.failure));
  }
  if (SUBSCRIPTIONS.has(request.method)) exchange.detach();
  try {
    await respondStream(response, answered, toFailure);
  } catch (error) {
    respond(response, json(toFailure(error), error));
  }
}

/** JSON that is no request is answered like a request that fails. */
function problemWith(body: unknown, { assertMessage }: RpcChecks): FabricError | undefined {
  try {
    assertMessage(body);
    return undefined;
  } catch (error) {
    return FabricError.from(error);
  }
}

/** What cannot be read as parameters fails in the SDK, before the operation. */
function withFailure(answered: RpcResponse, { failure }: A2aFace, trace: Trace): RpcResponse {
  const { error } = answered;
  if (error === undefined) return answered;
  if (failure) return { ...answered, error: toRpcError(failure, trace) };
  const { code } = error as { readonly code?: unknown };
  if (code !== INTERNAL_ERROR) return answered;
  return { ...answered, error: toRpcError(unreadable(), trace) };
}

/** For parameters that the SDK cannot read. */
export function unreadable(): FabricError {
  return a2aError('INVALID_PARAMS', 'The parameters cannot be read');
}

export function isStream(answered: unknown): answered is AsyncGenerator<unknown, void> {
  return typeof answered === 'object' && answered !== null && Symbol.asyncIterator in answered;
}

/** The status is that of a request that was understood, unless its caller calls too often. */
function toDocument(body: unknown, thrown: unknown, { isCallerLimit }: RpcChecks) {
  const error = thrown === undefined ? undefined : FabricError.from(thrown);
  const isLimit = error !== undefined && isCallerLimit?.(error) === true;
  return {
    status: isLimit ? error.row.http : 200,
    contentType: 'application/json',
    body,
    ...(isLimit && { headers: toLimitHeaders(error) }),
  };
}
