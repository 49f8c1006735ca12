import type { Log, Manifest } from '@starloom/core';
import {
  httpTransports,
  parseHeaders,
  stdioTransports,
  type TransportSource,
} from '@starloom/mcp-client';
import { Authorization, assertOauth } from '@starloom/mcp-client/oauth';
import { failure } from '../reasons.ts';
import { agentExcerpt, tlsOptions } from '../upstream/endpoint.ts';
import type { McpOptions } from './options.ts';

interface TransportContext {
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
  throw failure('bad_transport', { transport });
}
