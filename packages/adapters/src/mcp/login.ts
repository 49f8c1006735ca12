import { type Manifest, protocolOf } from '@starloom/core';
import {
  assertOauth,
  beginLogin,
  endLogin,
  type Login,
  type LoginOptions,
  type Logout,
} from '@starloom/mcp-client/oauth';
import { failure } from '../reasons.ts';
import { parseOptions } from '../upstream/endpoint.ts';
import { mcpOptionsSchema } from './options.ts';

interface OfAgent {
  /** With the values of its secrets. */
  readonly manifest: Manifest;
}

export type AgentLoginOptions = OfAgent & Pick<LoginOptions, 'stateFolder' | 'scope' | 'listen'>;
export type AgentLogoutOptions = OfAgent & Pick<LoginOptions, 'stateFolder'>;

/** Throws BAD_INPUT for an agent that no person logs in to. */
export async function beginAgentLogin({ manifest, ...places }: AgentLoginOptions): Promise<Login> {
  return await beginLogin({ ...personalOauth(manifest), ...places });
}

/** Throws BAD_INPUT for an agent that no person logs in to. */
export async function endAgentLogin({ manifest, ...places }: AgentLogoutOptions): Promise<Logout> {
  return await endLogin({ ...personalOauth(manifest), ...places });
}

function personalOauth(manifest: Manifest): Pick<LoginOptions, 'agentId' | 'uri' | 'oauth'> {
  const { endpoint, agent_id: agentId } = manifest;
  const isMcp = protocolOf(endpoint) === 'mcp';
  const { oauth } = isMcp ? parseOptions(mcpOptionsSchema, manifest) : {};
  if (oauth?.grant !== 'authorization_code' || endpoint.uri === undefined) {
    throw failure('no_login', { agent_id: agentId });
  }
  assertOauth(manifest, oauth);
  return { agentId, uri: endpoint.uri, oauth };
}
