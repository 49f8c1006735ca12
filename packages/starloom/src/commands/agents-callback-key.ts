// A key of an agent's own, with which it calls the gateway back. By its principal the gateway knows
// whose calls these are, also where the agent passes no trace on.

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Manifest } from '@starloom/core';
import { createKey, listKeys, revokeKey } from '@starloom/identity';
import { writeOwnFile } from '@starloom/wire';
import { identityFolder, makeStateFolder, stateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { assertScopes } from './keys.ts';

const VARIABLE = 'STARLOOM_KEY';

/** The manifest with the principal of the key; a program finds the key in its environment. */
export function callingBack(manifest: Manifest, env: Terminal['env']): Manifest {
  const { agent_id, endpoint, auth } = manifest;
  const given = { [VARIABLE]: `file:${keyFile(stateFolder(env), agent_id)}` };
  return {
    ...manifest,
    auth: { mandate: false, may_call: [], ...auth, principal: `agent:${agent_id}` },
    ...(isProgram(manifest) && {
      endpoint: { ...endpoint, env: { ...endpoint.env, ...given } },
    }),
  };
}

/** Of the tier of the agent. The key itself where a person has to give it to the agent. */
export async function makeCallbackKey(
  terminal: Terminal,
  manifest: Manifest,
  scopes: readonly string[],
): Promise<string | undefined> {
  assertScopes(scopes);
  const { agent_id, trust_tier: tier } = manifest;
  const home = await makeStateFolder(terminal.env);
  await revokeCallbackKeys(terminal, agent_id);
  const keyId = `${idPrefix(agent_id)}${randomBytes(4).toString('hex')}`;
  const grant = { keyId, principal: `agent:${agent_id}`, tier, scopes };
  const { key } = await createKey(identityFolder(home), grant, Date.now());
  if (!isProgram(manifest)) return key;
  const file = keyFile(home, agent_id);
  await writeOwnFile(file, key);
  return undefined;
}

export async function revokeCallbackKeys({ env }: Terminal, agentId: string): Promise<void> {
  const folder = identityFolder(await makeStateFolder(env));
  const isOwn = ({ key_id, principal, revoked_at }: Awaited<ReturnType<typeof listKeys>>[number]) =>
    revoked_at === null && principal === `agent:${agentId}` && key_id.startsWith(idPrefix(agentId));
  for (const { key_id } of (await listKeys(folder)).filter(isOwn)) {
    await revokeKey(folder, key_id, Date.now());
  }
}

function isProgram({ endpoint }: Manifest): boolean {
  return endpoint.transport !== 'http';
}

function keyFile(home: string, agentId: string): string {
  return join(home, 'secrets', agentId, VARIABLE);
}

function idPrefix(agentId: string): string {
  return `agent-${agentId}-`;
}
