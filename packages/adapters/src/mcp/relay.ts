// The face of an MCP agent that passes MCP through: for the gateway where it relays a request of its
// own client instead of making a call.

import type { ServerCapabilities } from '@modelcontextprotocol/client';
import type { Adapter, Fields } from '@starloom/core';
import type { ListKind, RequestOptions } from '@starloom/mcp-client';

export interface McpRelay {
  /**
   * Sends any MCP request and resolves with the result as it came, unknown fields and
   * `resultType: 'input_required'` included. Rejects with a FabricError; `rpcErrorOf` gives the
   * JSON-RPC error of the agent when it was one.
   */
  request(method: string, params: Fields | undefined, options: RequestOptions): Promise<Fields>;
  /** What the agent says it can do; connects when needed. */
  serverCapabilities(options: { readonly signal: AbortSignal }): Promise<ServerCapabilities>;
  /**
   * Calls back when a list has changed or may have, as after a restart of the agent. Makes no
   * connection by itself. Returns how to stop.
   */
  onListChanged(kind: ListKind, listener: () => void): () => void;
}

export function isMcpRelay(adapter: Adapter): adapter is Adapter & McpRelay {
  return 'request' in adapter && 'serverCapabilities' in adapter && 'onListChanged' in adapter;
}
