// The agents as one caller may see them. Everything that looks agents up for a caller looks here.

import type { AgentFilter, AgentRecord, Registry } from '@starloom/core';
import { mayCall, mayReach, type Principal } from '@starloom/identity';

export type AgentLookup = Pick<Registry, 'list' | 'get' | 'findByCapability' | 'resolveFallbacks'>;

export function agentsFor(principal: Principal, registry: Registry): AgentLookup {
  const mayServe = (capability: string) => (record: AgentRecord) =>
    mayCall(principal, record.manifest.agent_id, capability);
  return {
    list: (filter?: AgentFilter) =>
      registry.list(filter).flatMap((record) => visible(principal, record) ?? []),
    get: (agentId) => {
      const record = registry.get(agentId);
      return record && visible(principal, record);
    },
    findByCapability: (capability) =>
      registry.findByCapability(capability).filter(mayServe(capability)),
    resolveFallbacks: (agentId, capability) =>
      registry.resolveFallbacks(agentId, capability).filter(mayServe(capability)),
  };
}

/** The agent with what of it the caller may use; `undefined` when that is nothing. */
function visible(principal: Principal, record: AgentRecord): AgentRecord | undefined {
  const { agent_id } = record.manifest;
  if (!mayReach(principal, agent_id)) return undefined;
  const isTheirs = ({ name }: { readonly name: string }) => mayCall(principal, agent_id, name);
  const capabilities = record.capabilities.filter(isTheirs);
  const isWhole = capabilities.length === record.capabilities.length;
  if (isWhole && record.held.every(isTheirs)) return record;
  return { ...record, capabilities, held: record.held.filter(isTheirs) };
}
