export { AdapterPool } from './adapter-pool.ts';
export {
  findGatewayConfig,
  type GatewayConfig,
  gatewayConfigSchema,
  type LoadGatewayConfigOptions,
  loadGatewayConfig,
} from './config.ts';
export {
  type DiscoveredCapabilities,
  type DiscoveredFile,
  openDiscoveredFile,
} from './discovered-file.ts';
export { Gateway, type GatewayOptions } from './gateway.ts';
export { createObserver, type Observer, type ObserverOptions } from './observe/observer.ts';
export { Pinning, type PinningOptions } from './pinning/pinning.ts';
export { type RpcChannelOptions, serveRpcChannel } from './rpc/channel.ts';
export { mayUseCoordination } from './rpc/endpoint.ts';
export { SharedRules } from './shared-rules.ts';
export { TlsFiles, type TlsFilesOptions } from './transports/listener.ts';
export type { MessageChannel } from './transports/message-channel.ts';
export { type StdioChannelOptions, stdioChannel } from './transports/stdio.ts';
