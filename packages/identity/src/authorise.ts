// What a caller may use: its scopes, narrowed by its tier, narrowed by the rules of the configuration.
// Every tool, method, resource, upgrade and fallback candidate is decided by these functions; what a
// caller may not use looks unknown to it.

import { matchesGlob, matchesName, type TrustTier } from '@starloom/core';
import type { Decision, Policy, PolicyAgent, PolicyCall } from './policy/policy.ts';
import type { Principal } from './principal.ts';

export const ADMIN_AREAS = ['metrics', 'agents', 'keys', 'policy', 'audit'] as const;
export type AdminArea = (typeof ADMIN_AREAS)[number];

const PREFIXES = ['agent:', 'capability:', 'toolset:', 'admin:'] as const;
type Prefix = (typeof PREFIXES)[number];

type Caller = Pick<Principal, 'scopes' | 'tier'>;

/** What is wrong with a scope of the configuration; `undefined` when it is one. */
export function scopeProblem(scope: string): string | undefined {
  if (scope === '*' || PREFIXES.some((prefix) => scope.startsWith(prefix))) return undefined;
  return `expected "*" or ${PREFIXES.map((prefix) => `${prefix}…`).join(', ')}`;
}

/** Everything that is decided about the use of agents. */
export class Authoriser {
  readonly #policy: Policy | undefined;

  constructor(policy?: Policy) {
    this.#policy = policy;
  }

  /** May the caller know of this agent: is there anything of it that it may use? */
  mayReach(principal: Principal, agent: PolicyAgent): boolean {
    const isInScope = mayReach(principal, agent.agent_id);
    return isInScope && (this.#policy?.mayReach(principal, agent) ?? true);
  }

  /** May the caller know of this capability: is there a call of it that is allowed? */
  maySee(principal: Principal, agent: PolicyAgent, capability: string): boolean {
    if (!mayCall(principal, agent.agent_id, capability)) return false;
    return this.#policy?.hides(principal, agent, capability) === undefined;
  }

  /** May the caller know of the resources and prompts of the agent? */
  maySeeResources(principal: Principal, agent: PolicyAgent): boolean {
    if (!mayUseAgent(principal, agent.agent_id)) return false;
    return this.#policy?.hides(principal, agent, RESOURCES) === undefined;
  }

  /** Which rule hides the capability from a caller whose scopes include it; for logs alone. */
  hiddenBy(principal: Principal, agent: PolicyAgent, capability: string): string | undefined {
    if (!mayCall(principal, agent.agent_id, capability)) return undefined;
    return this.#policy?.hides(principal, agent, capability)?.rule;
  }

  /** What becomes of a call of a capability that the caller may see. */
  decide(principal: Principal, agent: PolicyAgent, capability: string, call: PolicyCall): Decision {
    return this.#policy?.decide(principal, agent, capability, call) ?? ALLOWED;
  }

  /** The whole of a decision, for people who test rules: also by scopes, and whether it is visible. */
  explain(
    principal: Principal,
    agent: PolicyAgent,
    capability: string,
    call: PolicyCall,
  ): Decision & { readonly visible: boolean } {
    if (!mayCall(principal, agent.agent_id, capability)) {
      return { effect: 'deny', rule: 'scopes', visible: false };
    }
    const hidden = this.#policy?.hides(principal, agent, capability);
    if (hidden) return { ...hidden, visible: false };
    return { ...this.decide(principal, agent, capability, call), visible: true };
  }

  /** The same for a resource or a prompt, which no other agent can stand in for. */
  decideResources(principal: Principal, agent: PolicyAgent, call: PolicyCall): Decision {
    const decision = this.decide(principal, agent, RESOURCES, call);
    return decision.effect === 'degrade' ? { ...decision, effect: 'deny' } : decision;
  }
}

/** What rules see as capability of resources and prompts. */
const RESOURCES = '';
const ALLOWED: Decision = Object.freeze({ effect: 'allow' });

/** May the caller call this capability of this agent, by whatever tool? */
export function mayCall(caller: Caller, agentId: string, capability: string): boolean {
  const grants = grantsOf(caller);
  if (grants.hasEveryAgent) return true;
  return (
    grants.matches('agent:', agentId) || grants.matches('capability:', `${agentId}/${capability}`)
  );
}

/** May the caller know of this agent: is there anything of it that it may use? */
export function mayReach(caller: Caller, agentId: string): boolean {
  const grants = grantsOf(caller);
  return grants.hasEveryAgent || grants.matches('agent:', agentId) || grants.namesPartOf(agentId);
}

/** May the caller use all of this agent: its resources and prompts, and every capability? */
export function mayUseAgent(caller: Caller, agentId: string): boolean {
  const grants = grantsOf(caller);
  return grants.hasEveryAgent || grants.matches('agent:', agentId);
}

/** May the caller use agents at all? */
export function mayUseAgents(caller: Caller): boolean {
  return grantsOf(caller).hasSomeAgent;
}

/** Tools, methods and resources of the gateway itself, such as those of `coordination`. */
export function mayUseToolset(caller: Caller, toolset: string): boolean {
  const grants = grantsOf(caller);
  return grants.hasAll || grants.matches('toolset:', toolset);
}

export function mayAdministrate(caller: Caller, area: AdminArea): boolean {
  const grants = grantsOf(caller);
  return grants.hasAll || grants.matches('admin:', area);
}

/** Callers of these tiers are limited by scopes alone; others reach only agents a scope names. */
const TRUSTED: ReadonlySet<TrustTier> = new Set(['local', 'org']);

class Grants {
  readonly hasAll: boolean;
  readonly hasEveryAgent: boolean;
  readonly hasSomeAgent: boolean;
  readonly #globs: Readonly<Record<Prefix, readonly string[]>>;

  constructor({ scopes, tier }: Caller) {
    const after = (prefix: Prefix) =>
      scopes.filter((scope) => scope.startsWith(prefix)).map((scope) => scope.slice(prefix.length));
    this.#globs = {
      'agent:': after('agent:'),
      'capability:': after('capability:'),
      'toolset:': after('toolset:'),
      'admin:': after('admin:'),
    };
    this.hasAll = scopes.includes('*');
    this.hasEveryAgent = TRUSTED.has(tier) && (this.hasAll || this.matches('toolset:', 'agents'));
    const named = [...this.#globs['agent:'], ...this.#globs['capability:']];
    this.hasSomeAgent = this.hasEveryAgent || named.length > 0;
  }

  matches(prefix: Prefix, name: string): boolean {
    return this.#globs[prefix].some((glob) => matchesName(glob, name));
  }

  namesPartOf(agentId: string): boolean {
    return this.#globs['capability:'].some((glob) => {
      const [agent = ''] = glob.split('/', 1);
      return matchesGlob(agent, agentId);
    });
  }
}

const known = new WeakMap<readonly string[], Partial<Record<TrustTier, Grants>>>();

/** Made once per principal, whose scopes are mostly a list of its own. */
function grantsOf(caller: Caller): Grants {
  const { scopes, tier } = caller;
  const byTier = known.get(scopes) ?? {};
  const grants = byTier[tier] ?? new Grants(caller);
  if (!byTier[tier]) known.set(scopes, { ...byTier, [tier]: grants });
  return grants;
}
