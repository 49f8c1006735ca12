import { FabricError, type Log, type Manifest } from '@starloom/core';
import {
  httpTransports,
  parseHeaders,
  stdioTransports,
  type TransportSource,
} from '@starloom/mcp-client';
import { Authorization, assertOauth } from '@starloom/mcp-client/oauth';
import { agentExcerpt } from '../upstream/agent-excerpt.ts';
import { tlsOptions } from '../upstream/tls-options.ts';
import type { McpOptions } from './options.ts';

export interface TransportContext {
  readonly options: McpOptions;
  readonly log: Log;
  readonly stateFolder: string | undefined;
}

/** Throws BAD_INPUT for a manifest that names no MCP agent. */
export function transportSource(manifest: Manifest, context: TransportContext): TransportSource {
  const { transport, uri, command, args = [], env = {}, headers } = manifest.endpoint;
  const { options, log, stateFolder } = context;
  const { oauth, cwd, result_bytes: maxMessageBytes } = options;
  const excerpt = agentExcerpt(manifest);
  if (oauth) assertOauth(manifest, oauth);
  if (transport === 'http' && uri !== undefined) {
    return httpTransports({
      uri,
      headers: parseHeaders(headers),
      maxMessageBytes,
      excerpt,
      connections: options.connections,
      connectTimeoutMs: options.connect_timeout_ms,
      tls: tlsOptions(manifest.endpoint),
      authorization:
        oauth && new Authorization({ agentId: manifest.agent_id, uri, oauth, stateFolder }),
      log,
    });
  }
  if (transport === 'stdio' && command !== undefined) {
    const agentId = manifest.agent_id;
    return stdioTransports({ agentId, command, args, env, cwd, maxMessageBytes, excerpt, log });
  }
  throw new FabricError('BAD_INPUT', 'An MCP agent is reached over http or stdio', {
    details: { reason: 'bad_transport', transport, fix: 'correct endpoint.transport' },
  });
}
