import type { Adapter, AdapterOptions } from '@starloom/core';
import { type AdapterTable, type OpenAdapterOptions, openFrom } from './open-adapter.ts';

export { findParamHeaders, type ParamHeader, toParamHeaders } from './mcp/param-headers.ts';
export { isMcpRelay, type McpRelay, type RelayOptions } from './mcp/relay.ts';
export type { AdapterTable, OpenAdapterOptions } from './open-adapter.ts';

/** Protocol name → how its adapter is loaded. To add a protocol, add its line. */
export const adapters = {
  mcp: async () => (await import('./mcp/adapter.ts')).createMcpAdapter,
  'local-process': async () =>
    (await import('./local-process/adapter.ts')).createLocalProcessAdapter,
  http: async () => (await import('./http/adapter.ts')).createHttpAdapter,
} satisfies AdapterTable;

/** The adapter for an agent; BAD_INPUT when its protocol or its endpoint is wrong. */
export function openAdapter(
  options: AdapterOptions,
  places: OpenAdapterOptions = {},
): Promise<Adapter> {
  return openFrom(adapters, options, places);
}
