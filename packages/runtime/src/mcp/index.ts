export { AgentMcpFace, type ListKind, type McpFaceOptions } from './server/mcp-face.ts';
export { openMcpHttp } from './server/open-http.ts';
export type { HttpFace, McpHttpOptions } from './server/serve-http.ts';
export { type StdioFace, serveMcpStdio } from './server/serve-stdio.ts';
