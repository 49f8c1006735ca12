// What a caller may use: its scopes, narrowed by its tier, narrowed by the rules of the configuration.
// Every tool, method, resource, upgrade and fallback candidate is decided by these functions; what a
// caller may not use looks unknown to it.

import { matchesGlob, matchesName, type TrustTier } from '@starloom/core';
import type { PolicyAgent, PolicyCall } from './policy/facts.ts';
import type { Policy } from './policy/policy.ts';
import type { Decision, Effect } from './policy/rules.ts';
import type { Principal } from './principal.ts';

const ADMIN_AREAS = [
  'metrics',
  'agents',
  'keys',
  'policy',
  'audit',
  'calls',
  'jobs',
  'sessions',
  'usage',
] as const;
export type AdminArea = (typeof ADMIN_AREAS)[number];

const PREFIXES = ['agent:', 'capability:', 'toolset:', 'admin:', 'register:'] as const;
type Prefix = (typeof PREFIXES)[number];

type Caller = Pick<Principal, 'scopes' | 'tier'>;

/** What is wrong with a scope of the configuration; `undefined` for a valid one. */
export function scopeProblem(scope: string): string | undefined {
  if (scope === '*' || PREFIXES.some((prefix) => scope.startsWith(prefix))) return undefined;
  return `expected "*" or ${PREFIXES.map((prefix) => `${prefix}…`).join(', ')}`;
}

/**
 * Everything that is decided about the use of agents. The rules of the realm and those of the gateway are
 * asked each for itself, and the stricter decision holds: neither widens what the other allows.
 */
export class Authoriser {
  readonly #policy: Policy | undefined;
  readonly #realm: () => Policy | undefined;

  /** `realm` gives the rules that all gateways share, as they are now. */
  constructor(policy?: Policy, realm: () => Policy | undefined = () => undefined) {
    this.#policy = policy;
    this.#realm = realm;
  }

  /** May the caller know of this agent: is there anything of it that it may use? */
  mayReach(principal: Principal, agent: PolicyAgent): boolean {
    const isInScope = mayReach(principal, agent.agent_id);
    if (!isInScope || this.#policy?.mayReach(principal, agent) === false) return false;
    return this.#realm()?.mayReach(principal, agent) ?? true;
  }

  /** May the caller know of this capability: is there a call of it that is allowed? */
  maySee(principal: Principal, agent: PolicyAgent, capability: string): boolean {
    if (!mayCall(principal, agent.agent_id, capability)) return false;
    return this.#hides(principal, agent, capability) === undefined;
  }

  /** May the caller know of the resources and prompts of the agent? */
  maySeeResources(principal: Principal, agent: PolicyAgent): boolean {
    if (!mayUseAgent(principal, agent.agent_id)) return false;
    return this.#hides(principal, agent, RESOURCES) === undefined;
  }

  /** Which rule hides the capability from a caller whose scopes include it; for logs alone. */
  hiddenBy(principal: Principal, agent: PolicyAgent, capability: string): string | undefined {
    if (!mayCall(principal, agent.agent_id, capability)) return undefined;
    return this.#hides(principal, agent, capability)?.rule;
  }

  /** Decides a call of a capability that the caller may see. */
  decide(principal: Principal, agent: PolicyAgent, capability: string, call: PolicyCall): Decision {
    const own = this.#policy?.decide(principal, agent, capability, call) ?? ALLOWED;
    const shared = this.#realm()?.decide(principal, agent, capability, call);
    if (shared?.rule === undefined) return own;
    return STRICTNESS[own.effect] > STRICTNESS[shared.effect] ? own : shared;
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
    const hidden = this.#hides(principal, agent, capability);
    if (hidden) return { ...hidden, visible: false };
    return { ...this.decide(principal, agent, capability, call), visible: true };
  }

  /** The same for a resource or a prompt, which no other agent can stand in for. */
  decideResources(principal: Principal, agent: PolicyAgent, call: PolicyCall): Decision {
    const decision = this.decide(principal, agent, RESOURCES, call);
    return decision.effect === 'degrade' ? { ...decision, effect: 'deny' } : decision;
  }

  #hides(principal: Principal, agent: PolicyAgent, capability: string): Decision | undefined {
    const shared = this.#realm()?.hides(principal, agent, capability);
    return shared ?? this.#policy?.hides(principal, agent, capability);
  }
}

/** What rules see as capability of resources and prompts. */
const RESOURCES = '';
const ALLOWED: Decision = Object.freeze({ effect: 'allow' });
const STRICTNESS: Readonly<Record<Effect, number>> = { allow: 0, degrade: 1, deny: 2 };

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

/** May the caller register, renew, drain and remove instances of this agent, as their owner? */
export function mayRegister(caller: Caller, agentId: string): boolean {
  return isRegistryOperator(caller) || grantsOf(caller).matches('register:', agentId);
}

/** May the caller register some agent? */
export function mayRegisterSome(caller: Caller): boolean {
  return isRegistryOperator(caller) || grantsOf(caller).mayRegister;
}

/** May the caller do so for all agents, of every owner? */
export function isRegistryOperator(caller: Caller): boolean {
  return TRUSTED.has(caller.tier) && mayAdministrate(caller, 'agents');
}

/** Callers of these tiers are limited by scopes alone; others reach only agents a scope names. */
const TRUSTED: ReadonlySet<TrustTier> = new Set(['local', 'org']);

class Grants {
  readonly hasAll: boolean;
  readonly hasEveryAgent: boolean;
  readonly hasSomeAgent: boolean;
  readonly mayRegister: boolean;
  readonly #globs: Readonly<Record<Prefix, readonly string[]>>;

  constructor({ scopes, tier }: Caller) {
    const after = (prefix: Prefix) =>
      scopes.filter((scope) => scope.startsWith(prefix)).map((scope) => scope.slice(prefix.length));
    this.#globs = {
      'agent:': after('agent:'),
      'capability:': after('capability:'),
      'toolset:': after('toolset:'),
      'admin:': after('admin:'),
      'register:': after('register:'),
    };
    this.hasAll = scopes.includes('*');
    this.mayRegister = this.#globs['register:'].length > 0;
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
