import type { FabricError, Manifest } from '@starloom/core';
import { forgetPins } from '@starloom/gateway/pins';
import { confirm, type GlobalOptions } from '../command-line.ts';
import { hasRealm, joinRealm } from '../realm.ts';
import { failure } from '../reasons.ts';
import { nearestOr } from '../report-error.ts';
import { makeStateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { revokeCallbackKeys } from './agents-callback-key.ts';
import { type AgentsPlace, awaitRemoval, findAgentsPlace } from './agents-place.ts';

const WAIT_MS = 10_000;

export async function removeAgent(
  terminal: Terminal,
  agentId: string,
  options: GlobalOptions & { readonly yes?: true },
): Promise<void> {
  await using place = await findAgentsPlace(terminal, options);
  const { shown, gateway } = place;
  const agents = await place.agents();
  if (!agents.some(({ agent_id }) => agent_id === agentId))
    throw unknownAgent(agentId, agents, place);
  const isAsked = !options.yes && !options.json;
  // A script that names the agent means it: only a person's no counts.
  if (isAsked && (await confirm(terminal, `Remove ${agentId} from ${shown}?`)) === false) {
    return terminal.tell('nothing was changed');
  }
  await place.change({ remove: [{ agentId }] });
  await revokeCallbackKeys(terminal, agentId);
  // With samples, a sample of the same name takes its place.
  const isGone =
    gateway === undefined || place.samples || (await awaitRemoval(gateway, agentId, WAIT_MS));
  // A gateway that still serves it would approve what it offers now.
  if (isGone) await forget(terminal, agentId, options);
  if (options.json) return terminal.json({ removed: agentId, file: shown });
  terminal.tell(`${agentId} is no longer in ${shown}`);
  if (!isGone) terminal.tell('  the gateway still serves it; see "starloom health"');
  for (const { agent_id, fallbacks } of agents) {
    if (!fallbacks.includes(agentId)) continue;
    terminal.tell(`warning: ${agent_id} names it in fallbacks\n  fix: remove it there in ${shown}`);
  }
}

async function forget(terminal: Terminal, agentId: string, options: GlobalOptions): Promise<void> {
  const folder = await makeStateFolder(terminal.env);
  const isShared = await hasRealm(terminal, options);
  await forgetPins(folder, agentId, { isShared, now: Date.now() });
  if (isShared) await joinRealm(terminal, options);
}

export function unknownAgent(
  agentId: string,
  agents: readonly Manifest[],
  { shown, samples }: AgentsPlace,
): FabricError {
  const ids = agents.map(({ agent_id }) => agent_id);
  const listed = ids.length > 0 ? `it has: ${ids.join(', ')}` : 'it has no agents';
  const sample = samples ? '; samples end with the gateway' : '';
  const fix = nearestOr(listed + sample, agentId, ids);
  return failure('unknown_agent/file', { agent_id: agentId, file: shown, fix });
}
