export { isQuestion, REJECTION, type RpcAnswer } from './agent-transport.ts';
export { type Answer, type McpCall, openCall, type ServerFacts } from './call.ts';
export type { Said } from './exchange.ts';
export { rpcErrorOf, rpcFailure } from './failures.ts';
export { postHeaders } from './http-headers.ts';
export {
  type CallToolOptions,
  type ClientState,
  httpTransports,
  McpClient,
  type McpClientOptions,
  type Progress,
  parseHeaders,
  type RequestOptions,
  stdioTransports,
  type TransportSource,
  toProgress,
} from './mcp-client.ts';
export type { ListKind } from './server/lists.ts';
export type { ConnectionAttempt } from './shared-connection.ts';
export type { Tool, Tools } from './tool-catalog.ts';
