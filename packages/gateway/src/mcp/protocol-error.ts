import { ProtocolError } from '@modelcontextprotocol/server';
import { createTrace, type FabricError } from '@starloom/core';
import { z } from 'zod';

const rpcErrorSchema = z.object({
  code: z.int(),
  message: z.string(),
  data: z.unknown().optional(),
});

/** A refusal as a JSON-RPC error whose data is the canonical payload. */
export function toProtocolError(error: FabricError): ProtocolError {
  return new ProtocolError(error.row.rpc, error.message, error.toPayload(createTrace()));
}

/** The agent's own JSON-RPC error as it came, else ours. */
export function toRelayedError(error: FabricError): ProtocolError {
  const { data: rpc } = rpcErrorSchema.safeParse(error.details.rpc);
  if (rpc) return new ProtocolError(rpc.code, rpc.message, rpc.data);
  return toProtocolError(error);
}
