import { FabricError, type Log } from '@starloom/core';
import { HttpTransport } from './http-transport.ts';
import type { McpServerConfig } from './server-config.ts';
import type { ServerTransport } from './server-transport.ts';
import { StdioTransport } from './stdio-transport.ts';

const MAX_MESSAGE_BYTES = 16_777_216;

export function createTransport(
  { name, command, env = {}, url, headers = {} }: McpServerConfig,
  { folder, log }: { readonly folder: string; readonly log: Log },
): ServerTransport {
  const maxMessageBytes = MAX_MESSAGE_BYTES;
  if (url !== undefined) return new HttpTransport({ url, headers, maxMessageBytes });
  if (command !== undefined) {
    const onStderrLine = (line: string) => log.debug({ server: name, line }, 'MCP server stderr');
    return new StdioTransport({ command, env, folder, maxMessageBytes, onStderrLine });
  }
  throw new FabricError('BAD_INPUT', `The MCP server "${name}" has neither command nor url`, {
    details: { reason: 'bad_server', server: name, fix: 'set "command" or "url" in agent.toml' },
  });
}
