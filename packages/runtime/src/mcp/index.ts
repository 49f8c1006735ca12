import type { AgentMcpFace } from './server/mcp-face.ts';
import type { HttpFace, McpHttpOptions } from './server/serve-http.ts';

export { McpApprovals } from './server/mcp-approvals.ts';
export { AgentMcpFace, type McpFaceOptions } from './server/mcp-face.ts';
export type { HttpFace, McpHttpOptions } from './server/serve-http.ts';
export { type StdioFace, serveMcpStdio } from './server/serve-stdio.ts';

/**
 * The agent as MCP server over HTTP. `node:http` and a bridge to web requests are loaded here: an agent on
 * stdio starts without them.
 */
export async function openMcpHttp(face: AgentMcpFace, options: McpHttpOptions): Promise<HttpFace> {
  const { openMcpHttp: open } = await import('./server/serve-http.ts');
  return await open(face, options);
}
