import { type Manifest, protocolOf } from '@starloom/core';
import {
  assertOauth,
  beginLogin,
  endLogin,
  type Login,
  type LoginOptions,
  type Logout,
  type OauthOptions,
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
  return await beginLogin({
    agentId: manifest.agent_id,
    ...personalOauth(manifest),
    ...places,
  });
}

/** Throws BAD_INPUT for an agent that no person logs in to. */
export async function endAgentLogin({
  manifest,
  stateFolder,
}: AgentLogoutOptions): Promise<Logout> {
  return await endLogin({
    agentId: manifest.agent_id,
    ...personalOauth(manifest),
    stateFolder,
  });
}

function personalOauth(manifest: Manifest): { uri: string; oauth: OauthOptions } {
  const { endpoint, agent_id } = manifest;
  const isMcp = protocolOf(endpoint) === 'mcp';
  const { oauth } = isMcp ? parseOptions(mcpOptionsSchema, manifest) : {};
  if (oauth?.grant !== 'authorization_code' || endpoint.uri === undefined) {
    throw failure('no_login', { agent_id });
  }
  assertOauth(manifest, oauth);
  return { uri: endpoint.uri, oauth };
}
