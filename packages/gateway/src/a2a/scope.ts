// Whom a path below `/a2a` reaches: one agent, or as the gateway itself every agent, for one caller.

import type { AgentRecord } from '@starloom/core';
import { mayUseAgents, type Principal } from '@starloom/identity';
import type { GatewayConfig } from '../config.ts';
import { type Access, type AgentLookup, VisibleAgents } from '../pipeline/route.ts';

export interface Scope {
  /** `undefined` for the gateway itself. */
  readonly agentId: string | undefined;
  readonly agents: Pick<AgentLookup, 'get'>;
  records(): readonly AgentRecord[];
  /** How a capability is named in the card of this scope. */
  skillId(agentId: string, capability: string): string;
}

interface ScopeOptions extends Access {
  readonly expose: GatewayConfig['mcp']['expose'];
}

/** `undefined` when there is no such agent, it is not exposed, or the caller may not use it, or any. */
export function openScope(
  agentId: string | undefined,
  principal: Principal,
  { expose, ...access }: ScopeOptions,
): Scope | undefined {
  const lookup = new VisibleAgents(principal, access);
  const isExposed = (id: string) => expose === 'all' || expose.includes(id);
  const get = (id: string) =>
    isExposed(id) && (agentId === undefined || id === agentId) ? lookup.get(id) : undefined;
  if (agentId === undefined ? !mayUseAgents(principal) : !get(agentId)) return undefined;
  const records = () => {
    if (agentId !== undefined) return [get(agentId) ?? []].flat();
    return lookup.list().filter(({ manifest }) => isExposed(manifest.agent_id));
  };
  return {
    agentId,
    agents: { get },
    records,
    skillId: (id, capability) => (agentId === undefined ? `${id}.${capability}` : capability),
  };
}

/** The agent and capability that a skill of the card names; agent ids have no dots. */
export function splitSkill({ agentId }: Scope, skill: string) {
  if (agentId !== undefined) return { agentId, capability: skill };
  const at = skill.indexOf('.');
  return at === -1 ? undefined : { agentId: skill.slice(0, at), capability: skill.slice(at + 1) };
}
