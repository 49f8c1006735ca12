import { ProtocolError } from '@modelcontextprotocol/server';
import { createTrace, type FabricError } from '@starloom/core';

/** A refusal as a JSON-RPC error whose data is the canonical payload. */
export function toProtocolError(error: FabricError): ProtocolError {
  return new ProtocolError(error.row.rpc, error.message, error.toPayload(createTrace()));
}
