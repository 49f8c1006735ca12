import { FabricError } from '@starloom/core';
import type { GatewayClient } from '../gateway-client.ts';

export interface Target {
  readonly agentId: string | undefined;
  readonly capability: string;
  /** What is left of the words. */
  readonly rest: readonly string[];
}

/** `percy reason …`, `percy.reason …` or `reason …`: an agent's name first, if it is one. */
export async function readTarget(client: GatewayClient, words: readonly string[]): Promise<Target> {
  const [first = '', ...rest] = words;
  const { agents } = await client.call('fabric.agent.list', {});
  const offers = new Map(
    agents.map(({ agent_id, capabilities }) => [agent_id, capabilities.map(({ name }) => name)]),
  );
  const [agentId = '', ...name] = first.split('.');
  if (name.length > 0 && offers.has(agentId)) {
    return { agentId, capability: name.join('.'), rest };
  }
  const own = offers.get(first);
  if (!own) return { agentId: undefined, capability: first, rest };
  const [capability, ...task] = rest;
  if (capability !== undefined) return { agentId: first, capability, rest: task };
  throw new FabricError('BAD_INPUT', `Which capability of ${first}?`, {
    details: { reason: 'usage', fix: `name one of: ${own.join(', ')}` },
  });
}
