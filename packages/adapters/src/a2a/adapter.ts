import { a2aOptionsSchema } from '@starloom/a2a';
import { A2aClient } from '@starloom/a2a/client';
import type { Adapter, AdapterOptions } from '@starloom/core';
import { parseHeaders, parseUrl } from '../http/target.ts';
import { agentExcerpt, parseOptions, tlsOptions } from '../upstream/endpoint.ts';

/** Throws BAD_INPUT for a manifest that names no A2A agent. Connects when first needed. */
export function createA2aAdapter({ manifest, log }: AdapterOptions): Adapter {
  const { agent_id: agentId, endpoint, capabilities } = manifest;
  return new A2aClient({
    agentId,
    capabilities,
    uri: parseUrl(manifest),
    headers: parseHeaders(manifest),
    tls: tlsOptions(endpoint),
    options: parseOptions(a2aOptionsSchema, manifest),
    excerpt: agentExcerpt(manifest),
    log: log.child({ agent_id: agentId }),
  });
}
