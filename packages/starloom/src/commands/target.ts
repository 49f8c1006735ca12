import {
  closestWord,
  FabricError,
  findCapability,
  hashToolName,
  normalName,
  toolNameSpellings,
} from '@starloom/core';
import type { GatewayClient } from '../gateway-client.ts';
import { failure } from '../reasons.ts';
import { nearestOr } from '../report-error.ts';
import type { AgentView } from '../tool-payloads.ts';

export interface Target {
  readonly agentId: string | undefined;
  readonly capability: string;
  readonly rest: readonly string[];
}

export async function readTarget(client: GatewayClient, words: readonly string[]): Promise<Target> {
  const { agents } = await client.call('fabric.agent.list', {});
  return findTarget(agents, words);
}

/**
 * `percy reason …`, or a tool as it is listed (`percy.reason …`, `percy_reason …`), or `reason …`:
 * an agent's name first, if it is one.
 */
export function findTarget(agents: readonly AgentView[], words: readonly string[]): Target {
  const [first = '', ...rest] = words;
  const agent = agents.find(({ agent_id }) => agent_id === first);
  if (agent) {
    const [capability, ...task] = rest;
    if (capability === undefined) {
      const names = agent.capabilities.map(({ name }) => name).join(', ');
      const none = `it offers nothing so far; see "starloom agents tools ${first}"`;
      const fix = names === '' ? none : `name one of: ${names}`;
      throw failure('usage/capability', { agent_id: first, fix });
    }
    return { agentId: first, capability, rest: task };
  }
  const tool = findTool(agents, first);
  if (tool) return { ...tool, rest };
  const agentId = first.split('.', 1)[0] ?? '';
  if (agentId !== first && agents.some(({ agent_id }) => agent_id === agentId)) {
    return { agentId, capability: first.slice(agentId.length + 1), rest };
  }
  const isOffered = agents.some((offering) => findCapability(offering, first));
  // An agent that was not reached yet may offer it: then the gateway decides.
  const isAllKnown = agents.every(({ capabilities }) => capabilities.length > 0);
  if (isOffered || !isAllKnown) return { agentId: undefined, capability: first, rest };
  throw failure('unknown_agent', { name: first, fix: nearestName([first], agents) });
}

/** The capability that this is a name of: as it is listed, with a hash where two share a name. */
function findTool(agents: readonly AgentView[], spelling: string) {
  const found = agents.flatMap(({ agent_id, capabilities }) =>
    capabilities
      .filter(({ name }) => isSpelling(spelling, agent_id, name))
      .map(({ name }) => ({ agentId: agent_id, capability: name })),
  );
  if (found.length <= 1) return found[0];
  const names = found.map(({ agentId, capability }) => `"${agentId} ${capability}"`);
  const fix = `write one of: ${names.join(', ')}`;
  throw failure('ambiguous', { name: spelling, count: names.length, fix });
}

function isSpelling(spelling: string, agentId: string, capability: string): boolean {
  const names = toolNameSpellings(agentId, capability);
  const all = [...names, ...names.map((name) => hashToolName(name, agentId, capability))];
  return all.includes(spelling) || all.includes(normalName(spelling));
}

/** The same error; with the name that was probably meant, when something is not known. */
export async function didYouMean(
  error: unknown,
  client: GatewayClient,
  words: readonly string[],
): Promise<unknown> {
  if (!FabricError.is(error) || error.code !== 'CAPABILITY_NOT_FOUND') return error;
  const { agents } = await client.call('fabric.agent.list', {});
  const fix = nearestName(words, agents);
  if (fix === undefined) return error;
  const details = { ...error.details, fix };
  return new FabricError(error.code, error.message, { details, cause: error.cause });
}

type Offer = Pick<AgentView, 'agent_id'> & { capabilities: readonly { readonly name: string }[] };

/** What to write instead of `words`, an agent and perhaps a capability, or one of the two. */
export function nearestName(
  words: readonly string[],
  agents: readonly Offer[],
): string | undefined {
  const [first = '', second] = words;
  const agent = agents.find(({ agent_id }) => agent_id === first);
  if (agent && second !== undefined) return nearestOf(second, agent);
  const ids = agents.map(({ agent_id }) => agent_id);
  const names = agents.flatMap(({ agent_id, capabilities }) =>
    capabilities.flatMap(({ name }) => [name, `${agent_id}.${name}`]),
  );
  const meant = closestWord(first, ids) ?? closestWord(first, names);
  if (meant !== undefined) return `did you mean "${meant}"?`;
  return ids.length > 0 ? 'see "starloom agents" for available agents' : undefined;
}

function nearestOf(word: string, { agent_id, capabilities }: Offer): string {
  const names = capabilities.map(({ name }) => name);
  if (names.length === 0) return `${agent_id} offers nothing; see "starloom health"`;
  const more = names.length > 8 ? `, … ("starloom agents tools ${agent_id}" shows all)` : '';
  return nearestOr(`name one of: ${names.slice(0, 8).join(', ')}${more}`, word, names);
}
