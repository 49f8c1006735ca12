import { a2aOptionsSchema } from '@starloom/a2a';
import type { Adapter, AdapterOptions } from '@starloom/core';
import type { Login, Logout } from '@starloom/mcp-client/oauth';
import { agentClientProtocolOptionsSchema } from './agent-client-protocol/options.ts';
import { agentCommunicationProtocolOptionsSchema } from './agent-communication-protocol/options.ts';
import { agentZeroOptionsSchema } from './agent-zero/options.ts';
import { httpAdapterOptionsSchema } from './http/options.ts';
import { localProcessOptionsSchema } from './local-process/options.ts';
import type { AgentLoginOptions, AgentLogoutOptions } from './mcp/login.ts';
import { mcpOptionsSchema } from './mcp/options.ts';
import { type AdapterTable, type OpenAdapterOptions, openFrom } from './open-adapter.ts';
import type { DocumentPlace, InspectedDocument, LoadContext } from './openapi/load-document.ts';

export { isAgentCard } from '@starloom/a2a';
export { OAUTH_SECRETS } from '@starloom/mcp-client/oauth-options';
export {
  EDITOR_AGENT_PRESETS,
  type EditorAgentName,
  type EditorAgentPreset,
} from './agent-client-protocol/presets.ts';
export type { AgentLoginOptions, AgentLogoutOptions } from './mcp/login.ts';
export { isMcpRelay, type McpRelay } from './mcp/relay.ts';
export type { AdapterTable, OpenAdapterOptions } from './open-adapter.ts';
export type { DocumentPlace, InspectedDocument, LoadContext } from './openapi/load-document.ts';

/** Protocol name → how its adapter is loaded, and its options. To add a protocol, add its line. */
export const adapters = {
  mcp: {
    load: async () => (await import('./mcp/adapter.ts')).createMcpAdapter,
    options: mcpOptionsSchema,
  },
  'local-process': {
    load: async () => (await import('./local-process/adapter.ts')).createLocalProcessAdapter,
    options: localProcessOptionsSchema,
  },
  http: {
    load: async () => (await import('./http/adapter.ts')).createHttpAdapter,
    options: httpAdapterOptionsSchema,
  },
  a2a: {
    load: async () => (await import('./a2a/adapter.ts')).createA2aAdapter,
    options: a2aOptionsSchema,
  },
  'agent-client-protocol': {
    load: async () =>
      (await import('./agent-client-protocol/adapter.ts')).createAgentClientProtocolAdapter,
    options: agentClientProtocolOptionsSchema,
  },
  'agent-communication-protocol': {
    load: async () =>
      (await import('./agent-communication-protocol/adapter.ts'))
        .createAgentCommunicationProtocolAdapter,
    options: agentCommunicationProtocolOptionsSchema,
  },
  'agent-zero': {
    load: async () => (await import('./agent-zero/adapter.ts')).createAgentZeroAdapter,
    options: agentZeroOptionsSchema,
  },
} satisfies AdapterTable;

/** The login of a person to an MCP agent; see `Login`. */
export async function beginLogin(options: AgentLoginOptions): Promise<Login> {
  return await (await import('./mcp/login.ts')).beginAgentLogin(options);
}

/** Removes the tokens of a person's login, and has the server revoke them where it can. */
export async function endLogin(options: AgentLogoutOptions): Promise<Logout> {
  return await (await import('./mcp/login.ts')).endAgentLogin(options);
}

/** The adapter for an agent; BAD_INPUT when its protocol or its endpoint is wrong. */
export function openAdapter(
  options: AdapterOptions,
  places: OpenAdapterOptions = {},
): Promise<Adapter> {
  return openFrom(adapters, options, places);
}

/** Reads an OpenAPI document and says where its calls would go. */
export async function inspectOpenApi(
  place: DocumentPlace & { readonly server?: string | undefined },
  context: LoadContext,
): Promise<InspectedDocument> {
  const { inspectOpenApi: inspect } = await import('./openapi/load-document.ts');
  return inspect(place, context);
}
