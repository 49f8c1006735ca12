import { FabricError, type Log, type Manifest } from '@starloom/core';
import { agentExcerpt } from '../upstream/agent-excerpt.ts';
import { parseOptions } from '../upstream/options.ts';
import type { AgentTransport } from './agent-transport.ts';
import { HttpEndpoint } from './http-endpoint.ts';
import { parseManifestHeaders } from './http-headers.ts';
import { HttpTransport } from './http-transport.ts';
import { Authorization, assertOauth } from './oauth/authorization.ts';
import { type McpOptions, mcpOptionsSchema } from './options.ts';
import { StdioTransport } from './stdio-transport.ts';

/** Makes the transports of one agent, one after the other, and keeps what they share. */
export interface TransportSource {
  readonly options: McpOptions;
  /** A new one costs more than a request. */
  readonly isCostly: boolean;
  create(): AgentTransport;
  close(): Promise<void>;
}

/** Throws BAD_INPUT for a manifest that names no MCP agent. */
export function transportSource(
  manifest: Manifest,
  log: Log,
  stateFolder?: string,
): TransportSource {
  const { transport, uri, command, args = [], env = {}, headers } = manifest.endpoint;
  const options = parseOptions(mcpOptionsSchema, manifest);
  const maxMessageBytes = options.result_bytes;
  const excerpt = agentExcerpt(manifest);
  const { oauth } = options;
  if (oauth) assertOauth(manifest, oauth);
  if (transport === 'http' && uri !== undefined) {
    const endpoint = new HttpEndpoint({
      uri,
      headers: parseManifestHeaders(headers),
      maxMessageBytes,
      excerpt,
      connections: options.connections,
      connectTimeoutMs: options.connect_timeout_ms,
      authorization:
        oauth && new Authorization({ agentId: manifest.agent_id, uri, oauth, stateFolder }),
    });
    return {
      options,
      isCostly: false,
      create: () => new HttpTransport({ endpoint, log }),
      close: () => endpoint.close(),
    };
  }
  if (transport === 'stdio' && command !== undefined) {
    const { cwd } = options;
    return {
      options,
      isCostly: true,
      create: () => new StdioTransport({ command, args, env, cwd, maxMessageBytes, excerpt, log }),
      close: async () => {},
    };
  }
  throw new FabricError('BAD_INPUT', 'An MCP agent is reached over http or stdio', {
    details: { reason: 'bad_transport', transport, fix: 'correct endpoint.transport' },
  });
}
