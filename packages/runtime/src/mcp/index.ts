import type { HttpFace, HttpFaceOptions } from '../http-face.ts';
import type { AgentMcpFace } from './server/mcp-face.ts';

export type { HttpFace, HttpFaceOptions } from '../http-face.ts';
export { McpApprovals } from './server/mcp-approvals.ts';
export { AgentMcpFace, type McpFaceOptions } from './server/mcp-face.ts';
export { type StdioFace, serveMcpStdio } from './server/serve-stdio.ts';

/**
 * The agent as MCP server over HTTP. `node:http` and a bridge to web requests are loaded here: an agent on
 * stdio starts without them.
 */
export async function openMcpHttp(face: AgentMcpFace, options: HttpFaceOptions): Promise<HttpFace> {
  const { openMcpHttp: open } = await import('./server/serve-http.ts');
  return await open(face, options);
}
