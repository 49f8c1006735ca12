// What a client can do and wants to hear, in the words of the current revision: its agents want to
// know that with every request. Older clients said it once, when they connected, if at all.

import {
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  type LoggingLevel,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ProtocolNotification } from '@starloom/core';
import type { Connection } from './connection.ts';

/** As the keys of `_meta` that say it. */
export function declaredBy(server: Server, { mcpReq }: ServerContext): Record<string, unknown> {
  if (mcpReq.envelope) return mcpReq.envelope;
  const capabilities = server.getClientCapabilities();
  return {
    [LOG_LEVEL_META_KEY]: 'debug',
    ...(capabilities && { [CLIENT_CAPABILITIES_META_KEY]: capabilities }),
  };
}

/**
 * Passes on what an agent says meanwhile, as fast as the client reads: progress, and log messages
 * where the client asked for them. Anything else an agent may say is not about this request.
 */
export async function notifyClient(
  { room }: Connection,
  { mcpReq }: ServerContext,
  { method, params = {} }: ProtocolNotification,
): Promise<void> {
  await room();
  if (method === 'notifications/progress') return mcpReq.notify({ method, params });
  if (method !== 'notifications/message') return;
  const { level, data, logger } = params;
  await mcpReq.log(level as LoggingLevel, data, ...(typeof logger === 'string' ? [logger] : []));
}
