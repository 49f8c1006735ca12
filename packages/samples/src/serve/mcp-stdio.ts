import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { SampleAgent } from '../agent.ts';
import { createMcpServer } from './mcp-server.ts';
import type { ServeOptions } from './options.ts';

/** The agent as an MCP server over stdin and stdout. */
export function serveMcpStdio<Input>(agent: SampleAgent<Input>, options: ServeOptions): void {
  serveStdio(() => createMcpServer(agent, options));
}
