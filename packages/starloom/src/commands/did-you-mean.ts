import { closestWord, FabricError } from '@starloom/core';
import type { GatewayClient } from '../gateway-client.ts';

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

interface Offer {
  readonly agent_id: string;
  readonly capabilities: readonly { readonly name: string }[];
}

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
  const meant = closestWord(word, names);
  if (meant !== undefined) return `did you mean "${meant}"?`;
  if (names.length === 0) return `${agent_id} offers nothing; see "starloom health"`;
  const more = names.length > 8 ? `, … ("starloom agents tools ${agent_id}" shows all)` : '';
  return `name one of: ${names.slice(0, 8).join(', ')}${more}`;
}
