// The JSON-RPC binding, by the handlers of the SDK: they read the methods of both versions, and write
// results. Errors are written here, since theirs leave out what failed.

import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { FabricError, type Trace } from '@starloom/core';
import { assertMessage, INVALID_REQUEST, idOf } from '../transports/frame.ts';
import type { HttpExchange } from '../transports/http.ts';
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
  readonly exchange: HttpExchange;
  readonly face: A2aFace;
  readonly version: string;
  readonly isLegacy: boolean;
  readonly trace: Trace;
}

export async function serveJsonRpc({ exchange, face, version, isLegacy, trace }: RpcCall) {
  const { response, body } = exchange;
  const request = toRequest(body);
  const handler: Handler = isLegacy
    ? new LegacyJsonRpcTransportHandler(face)
    : new JsonRpcTransportHandler(face);
  const context = new ServerCallContext({ requestedVersion: version });
  const answered = await handler.handle(request, context);
  if (!isStream(answered)) {
    return respond(response, json(withFailure(answered as RpcResponse, face, trace)));
  }
  if (SUBSCRIPTIONS.has(request.method)) exchange.detach();
  const id = idOf(body);
  const toFailure = (error: unknown) => ({
    jsonrpc: '2.0',
    id,
    error: toRpcError(error, trace),
  });
  try {
    await respondStream(response, answered, toFailure);
  } catch (error) {
    respond(response, json(toFailure(error)));
  }
}

function toRequest(body: unknown): Record<string, unknown> {
  if (body === undefined) {
    throw new FabricError('BAD_INPUT', 'The body is empty', {
      details: { reason: 'not_json', rpc_code: -32700 },
    });
  }
  if (Array.isArray(body)) {
    throw new FabricError('BAD_INPUT', 'A2A has no batches', {
      details: { reason: 'batch', rpc_code: INVALID_REQUEST },
    });
  }
  assertMessage(body);
  return body as Record<string, unknown>;
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

function json(body: unknown) {
  return { status: 200, contentType: 'application/json', body };
}
