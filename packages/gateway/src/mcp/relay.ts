import type { McpRequestContext, Server } from '@modelcontextprotocol/server';
import type { Connection } from './connection.ts';

export class McpRelay {
  install(_server: Server, _connection: Connection, _era: McpRequestContext['era']): void {}
}
