export { type ListKind, McpFace, type McpFaceOptions } from './server/mcp-face.ts';
export { type HttpFace, type McpHttpOptions, openMcpHttp } from './server/serve-http.ts';
export { type StdioFace, serveMcpStdio } from './server/serve-stdio.ts';
