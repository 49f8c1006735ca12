import { ProtocolError, type ServerContext } from '@modelcontextprotocol/server';
import { createTrace, FabricError, type Trace } from '@starloom/core';
import { z } from 'zod';
import type { ActiveRequest } from '../observe/observer.ts';
import { type Connection, connectionOf } from './connection.ts';

const rpcErrorSchema = z.object({
  code: z.int(),
  message: z.string(),
  data: z.unknown().optional(),
});

/** How a request of the SDK is observed. */
export function requestOf(context: ServerContext, opened: Connection): ActiveRequest | undefined {
  return connectionOf(context, opened).requestOf?.(context.mcpReq.id);
}

/** A handler that may throw FabricErrors: they become errors of the protocol, on its request's trace. */
export function answering<Request, Result>(
  opened: Connection,
  serve: (request: Request, context: ServerContext) => Promise<Result>,
): (request: Request, context: ServerContext) => Promise<Result> {
  return async (request, context) => {
    try {
      return await serve(request, context);
    } catch (thrown) {
      if (thrown instanceof ProtocolError) throw thrown;
      throw toProtocolError(FabricError.from(thrown), requestOf(context, opened));
    }
  };
}

/** The agent's own JSON-RPC error as it came, else ours with the canonical payload as data. */
export function toProtocolError(
  error: FabricError,
  request: Pick<ActiveRequest, 'trace' | 'fail'> | undefined,
): ProtocolError {
  request?.fail(error);
  return toRpcError(error, request?.trace ?? createTrace());
}

export function toRpcError(error: FabricError, trace: Trace): ProtocolError {
  const { data: rpc } = rpcErrorSchema.safeParse(error.details.rpc);
  if (rpc) return new ProtocolError(rpc.code, rpc.message, rpc.data);
  return new ProtocolError(error.row.rpc, error.message, error.toPayload(trace));
}
