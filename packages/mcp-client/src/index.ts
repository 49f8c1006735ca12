export { cancelAnswer, REJECTION, type RpcAnswer } from './cancel-answer.ts';
export type { McpConnection } from './connection.ts';
export type { Exchange, Said } from './exchange.ts';
export { type Headers, parseHeaders, postHeaders } from './http-headers.ts';
export { isQuestion } from './json-rpc.ts';
export type { Lane, LaneLease } from './lanes.ts';
export type { ListKind } from './list-kinds.ts';
export {
  type CallToolOptions,
  type ClientState,
  McpClient,
  type McpClientOptions,
} from './mcp-client.ts';
export { toParamHeaders } from './param-headers.ts';
export { type Progress, toProgress } from './progress.ts';
export type { RequestOptions } from './request-options.ts';
export { throwUnsent } from './requests.ts';
export { rpcErrorOf, rpcFailure } from './rpc-failure.ts';
export type { ConnectionAttempt } from './shared-connection.ts';
export type { Tool, Tools } from './tool-catalog.ts';
export {
  type HttpTransportsOptions,
  httpTransports,
  stdioTransports,
  type TransportSource,
} from './transport-source.ts';
