// The face of an MCP agent that passes MCP through: for the gateway where it relays a request of its
// own client instead of making a call.

import type { ServerCapabilities } from '@modelcontextprotocol/client';
import type { Adapter } from '@starloom/core';
import type { McpClient } from '@starloom/mcp-client';

export interface McpRelay extends Pick<McpClient, 'request' | 'onListChanged'> {
  /** What the agent says it can do; connects when needed. */
  serverCapabilities(options: { readonly signal: AbortSignal }): Promise<ServerCapabilities>;
}

export function isMcpRelay(adapter: Adapter): adapter is Adapter & McpRelay {
  return 'request' in adapter && 'serverCapabilities' in adapter && 'onListChanged' in adapter;
}
