// The JSON-RPC binding, by the handlers of the SDK: they read the methods of both versions, and write
// results. Errors are written here, since theirs leave out what failed.

import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { FabricError, type Trace } from '@starloom/core';
import { toLimitHeaders } from '@starloom/wire';
import { isCallerLimit } from '../pipeline/call-limits.ts';
import { assertMessage, idOf, PARSE_ERROR } from '../transports/frame.ts';
import type { HttpRequest } from '../transports/http.ts';
import type { A2aFace } from './face.ts';
import { a2aError, toRpcError } from './failures.ts';
import { respond, respondStream } from './respond.ts';

interface RpcResponse {
  readonly jsonrpc: string;
  readonly id: string | number | null;
  readonly result?: unknown;
  readonly error?: unknown;
}

type Handler = JsonRpcTransportHandler | LegacyJsonRpcTransportHandler;

const INTERNAL_ERROR = -32603;
const SUBSCRIPTIONS: ReadonlySet<unknown> = new Set(['SubscribeToTask', 'tasks/resubscribe']);

export interface RpcCall {
  readonly exchange: HttpRequest;
  readonly face: A2aFace;
  readonly version: string;
  readonly isLegacy: boolean;
  readonly trace: Trace;
}

export async function serveJsonRpc({ exchange, face, version, isLegacy, trace }: RpcCall) {
  const { response, body } = exchange;
  const id = idOf(body);
  const toFailure = (error: unknown) => {
    exchange.seen.fail(error);
    return { jsonrpc: '2.0', id, error: toRpcError(error, trace) };
  };
  if (body === undefined) throw emptyBody();
  const problem = problemWith(body);
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

function emptyBody(): FabricError {
  return new FabricError('BAD_INPUT', 'The body is empty', {
    details: { reason: 'not_json', rpc_code: PARSE_ERROR },
  });
}

/** JSON that is no request is answered like a request that fails. */
function problemWith(body: unknown): FabricError | undefined {
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
  const unread = a2aError('INVALID_PARAMS', 'The parameters cannot be read');
  return { ...answered, error: toRpcError(unread, trace) };
}

function isStream(answered: unknown): answered is AsyncGenerator<unknown, void> {
  return typeof answered === 'object' && answered !== null && Symbol.asyncIterator in answered;
}

/** The status is that of a request that was understood, unless its caller calls too often. */
function json(body: unknown, thrown?: unknown) {
  const error = thrown === undefined ? undefined : FabricError.from(thrown);
  const isLimit = error !== undefined && isCallerLimit(error);
  return {
    status: isLimit ? error.row.http : 200,
    contentType: 'application/json',
    body,
    ...(isLimit && { headers: toLimitHeaders(error) }),
  };
}
