import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import type { SampleAgent } from '../agent.ts';
import { serveLoopback } from './loopback.ts';
import { createMcpServer } from './mcp-server.ts';
import type { ServeOptions } from './options.ts';

/** The agent as an MCP server over Streamable HTTP, for clients of every revision. */
export async function serveMcpHttp<Input>(
  agent: SampleAgent<Input>,
  options: ServeOptions,
): Promise<void> {
  const handle = toNodeHandler(createMcpHandler(() => createMcpServer(agent, options)));
  await serveLoopback(options.port, '/mcp', handle);
}
