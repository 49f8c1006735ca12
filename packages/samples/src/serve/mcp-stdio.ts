import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Agent } from '../agent.ts';
import { createMcpServer } from './mcp-server.ts';
import type { ServeOptions } from './options.ts';

/** The agent as an MCP server over stdin and stdout. */
export function serveMcpStdio<Input>(agent: Agent<Input>, options: ServeOptions): void {
  serveStdio(() => createMcpServer(agent, options));
}
