// The agents as one caller may see and call them. Everything that looks agents up for a caller looks
// here. What no rule could ever allow it is not seen; what it may see and not call now is refused by
// the rule that says so.

import { type AgentFilter, type AgentRecord, FabricError, type Registry } from '@starloom/core';
import type { Authoriser, Decision, PolicyCall, Principal } from '@starloom/identity';

export type AgentLookup = Pick<Registry, 'list' | 'get' | 'findByCapability' | 'resolveFallbacks'>;

export interface CallableAgents extends AgentLookup {
  /** What becomes of this call at an agent that the caller may see. */
  decide(record: AgentRecord, capability: string): Decision;
}

export interface Access {
  readonly registry: Registry;
  readonly authoriser: Authoriser;
}

/** The agents that a caller may see. */
export function agentsFor(principal: Principal, { registry, authoriser }: Access): AgentLookup {
  const mayServe = (capability: string) => (record: AgentRecord) =>
    authoriser.maySee(principal, record.manifest, capability);
  const visible = (record: AgentRecord) => visibleTo(principal, record, authoriser);
  return {
    list: (filter?: AgentFilter) =>
      registry.list(filter).flatMap((record) => visible(record) ?? []),
    get: (agentId) => {
      const record = registry.get(agentId);
      return record && visible(record);
    },
    findByCapability: (capability) =>
      registry.findByCapability(capability).filter(mayServe(capability)),
    resolveFallbacks: (agentId, capability) =>
      registry.resolveFallbacks(agentId, capability).filter(mayServe(capability)),
  };
}

/** The same for one call, which is decided for each agent that could serve it. */
export function agentsForCall(
  principal: Principal,
  access: Access,
  call: PolicyCall,
): CallableAgents {
  const { authoriser } = access;
  return {
    ...agentsFor(principal, access),
    decide: ({ manifest }, capability) => authoriser.decide(principal, manifest, capability, call),
  };
}

/** The agent with what of it the caller may use; `undefined` when that is nothing. */
function visibleTo(
  principal: Principal,
  record: AgentRecord,
  authoriser: Authoriser,
): AgentRecord | undefined {
  const { manifest } = record;
  if (!authoriser.mayReach(principal, manifest)) return undefined;
  const isTheirs = ({ name }: { readonly name: string }) =>
    authoriser.maySee(principal, manifest, name);
  if (record.capabilities.every(isTheirs) && record.held.every(isTheirs)) return record;
  const capabilities = record.capabilities.filter(isTheirs);
  const held = record.held.filter(isTheirs);
  return capabilities.length + held.length === 0 ? undefined : { ...record, capabilities, held };
}

/** A refusal by a rule, for a caller that may know of the agent. */
export function deniedBy(
  { rule, reason }: Decision,
  target: { readonly agent_id: string; readonly capability: string },
  why = 'does not allow this call',
): FabricError {
  const because = reason === undefined ? '' : `: ${reason}`;
  return new FabricError('POLICY_DENIED', `The policy rule "${rule}" ${why}${because}`, {
    details: {
      reason: 'policy',
      rule,
      ...target,
      sent: false,
      fix: 'ask the operator of the gateway, who can change the rule in starloom.yaml',
    },
  });
}
