import type { AgentMcpFace } from './mcp-face.ts';
import type { HttpFace, McpHttpOptions } from './serve-http.ts';

/**
 * The agent as MCP server over HTTP. What that takes (`node:http`, a bridge to web requests) is loaded
 * here: an agent on stdio starts without it.
 */
export async function openMcpHttp(face: AgentMcpFace, options: McpHttpOptions): Promise<HttpFace> {
  const { openMcpHttp: open } = await import('./serve-http.ts');
  return await open(face, options);
}
