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

/** As the keys of `_meta` that say it. */
export function declaredBy(server: Server, { mcpReq }: ServerContext): Record<string, unknown> {
  if (mcpReq.envelope) return mcpReq.envelope;
  const capabilities = server.getClientCapabilities();
  return {
    [LOG_LEVEL_META_KEY]: 'debug',
    ...(capabilities && { [CLIENT_CAPABILITIES_META_KEY]: capabilities }),
  };
}

/** Passes on what an agent says meanwhile; log messages only where the client asked for them. */
export async function notifyClient(
  { mcpReq }: ServerContext,
  { method, params = {} }: ProtocolNotification,
): Promise<void> {
  if (method !== 'notifications/message') return mcpReq.notify({ method, params });
  const { level, data, logger } = params;
  await mcpReq.log(level as LoggingLevel, data, ...(typeof logger === 'string' ? [logger] : []));
}
