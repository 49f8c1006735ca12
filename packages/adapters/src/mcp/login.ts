import { FabricError, type Manifest, protocolOf } from '@starloom/core';
import {
  assertOauth,
  beginLogin,
  type Login,
  type LoginOptions,
  type OauthOptions,
} from '@starloom/mcp-client/oauth';
import { parseOptions } from '../upstream/options.ts';
import { mcpOptionsSchema } from './options.ts';

export interface AgentLoginOptions extends Pick<LoginOptions, 'stateFolder' | 'listen'> {
  /** With the values of its secrets. */
  readonly manifest: Manifest;
}

/** Throws BAD_INPUT for an agent that no person logs in to. */
export async function beginAgentLogin({ manifest, ...places }: AgentLoginOptions): Promise<Login> {
  return await beginLogin({
    agentId: manifest.agent_id,
    ...personalOauth(manifest),
    ...places,
  });
}

function personalOauth(manifest: Manifest): { uri: string; oauth: OauthOptions } {
  const { endpoint, agent_id } = manifest;
  const isMcp = protocolOf(endpoint) === 'mcp';
  const { oauth } = isMcp ? parseOptions(mcpOptionsSchema, manifest) : {};
  if (oauth?.grant !== 'authorization_code' || endpoint.uri === undefined) {
    throw new FabricError('BAD_INPUT', `No person logs in to agent "${agent_id}"`, {
      details: {
        agent_id,
        reason: 'no_login',
        fix: 'set oauth.grant to authorization_code in its endpoint.options',
      },
    });
  }
  assertOauth(manifest, oauth);
  return { uri: endpoint.uri, oauth };
}
