import { closestWord, FabricError, type Manifest } from '@starloom/core';
import { forgetPins } from '@starloom/gateway/pins';
import { changeAgentsFile, readAgentsFile } from '@starloom/registry';
import { toSafeJson } from '../plain-text.ts';
import { makeStateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import type { RemoveOptions } from './agents.ts';
import { revokeCallbackKeys } from './agents-callback-key.ts';
import { type AgentsPlace, awaitRemoval, findAgentsPlace } from './agents-place.ts';

const WAIT_MS = 10_000;

export async function removeAgent(
  terminal: Terminal,
  agentId: string,
  options: RemoveOptions,
): Promise<void> {
  await using place = await findAgentsPlace(terminal, options);
  const { file, shown, gateway } = place;
  const agents = place.isNew ? [] : await readAgentsFile(file);
  if (!agents.some(({ agent_id }) => agent_id === agentId))
    throw unknownAgent(agentId, agents, place);
  if (!(await isConfirmed(terminal, agentId, shown, options))) {
    return terminal.tell('nothing was changed');
  }
  await changeAgentsFile(file, { remove: [agentId] });
  await revokeCallbackKeys(terminal, agentId);
  // With samples, a sample of the same name takes its place.
  const isGone =
    gateway === undefined || place.samples || (await awaitRemoval(gateway, agentId, WAIT_MS));
  // A gateway that still serves it would approve what it offers now.
  if (isGone) await forgetPins(await makeStateFolder(terminal.env), agentId);
  if (options.json) return terminal.print(toSafeJson({ removed: agentId, file: shown }));
  terminal.tell(`${agentId} is no longer in ${shown}`);
  if (!isGone) terminal.tell('  the gateway still serves it; see "starloom health"');
  for (const { agent_id, fallbacks } of agents) {
    if (!fallbacks.includes(agentId)) continue;
    terminal.tell(`warning: ${agent_id} names it in fallbacks\n  fix: remove it there in ${shown}`);
  }
}

async function isConfirmed(
  terminal: Terminal,
  agentId: string,
  file: string,
  { yes, json }: RemoveOptions,
): Promise<boolean> {
  if (yes || json) return true;
  const answer = await terminal.ask(`Remove ${agentId} from ${file}? [y/N] `);
  // A script that names the agent means it.
  return answer === undefined || /^y(es)?$/i.test(answer.trim());
}

export function unknownAgent(
  agentId: string,
  agents: readonly Manifest[],
  { shown, samples }: AgentsPlace,
): FabricError {
  const ids = agents.map(({ agent_id }) => agent_id);
  const meant = closestWord(agentId, ids);
  const listed = ids.length > 0 ? `it has: ${ids.join(', ')}` : 'it has no agents';
  const sample = samples ? '; samples end with the gateway' : '';
  return new FabricError('CAPABILITY_NOT_FOUND', `There is no agent "${agentId}" in ${shown}`, {
    details: {
      reason: 'unknown_agent',
      agent_id: agentId,
      fix: meant === undefined ? listed + sample : `did you mean "${meant}"?`,
    },
  });
}
