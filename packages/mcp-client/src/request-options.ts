import type { JSONRPCNotification } from '@modelcontextprotocol/client';
import type { Fields } from '@starloom/core';

export interface RequestOptions {
  /** Aborts with a FabricError; the agent is notified. */
  readonly signal: AbortSignal;
  /** What the client declared; wins over what `_meta` of the params says. 2026-07-28 agents only. */
  readonly clientCapabilities?: Fields;
  /**
   * Progress (when the params asked for it, under the token they gave), log messages of this
   * request, and what it subscribed to (`subscriptions/listen`), in order and before the result. Over
   * stdio a log message is passed on only while no other request runs, since it does not say where
   * it belongs. The agent is held back while a returned promise is pending.
   */
  readonly onNotification?: (notification: JSONRPCNotification) => void | Promise<void>;
}
