// The face of an MCP agent that passes MCP through: for the gateway where it relays a request of its
// own client instead of making a call.

import type { JSONRPCNotification, ServerCapabilities } from '@modelcontextprotocol/client';
import type { Adapter, Fields } from '@starloom/core';

export const LIST_KINDS = ['tools', 'prompts', 'resources'] as const;
export type ListKind = (typeof LIST_KINDS)[number];

export interface RelayOptions {
  /** Aborts with a FabricError; the agent is notified. */
  readonly signal: AbortSignal;
  /** What the client declared; wins over what `_meta` of the params says. 2026-07-28 agents only. */
  readonly clientCapabilities?: Fields;
  /**
   * Progress (when the params asked for it, under the token they gave), log messages of this
   * request, and what it subscribed to (`subscriptions/listen`), in order and before the result. Over stdio a log message is passed on only while no
   * other request runs, since it does not say where it belongs. The agent is held back while a
   * returned promise is pending.
   */
  readonly onNotification?: (notification: JSONRPCNotification) => void | Promise<void>;
}

export interface McpRelay {
  /**
   * Sends any MCP request and resolves with the result as it came, unknown fields and
   * `resultType: 'input_required'` included. Rejects with a FabricError; `rpcErrorOf` gives the
   * JSON-RPC error of the agent when it was one.
   */
  request(method: string, params: Fields | undefined, options: RelayOptions): Promise<Fields>;
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
