// The rules of the configuration. The first rule that matches decides; rules narrow what scopes and
// tiers allow, and never widen it. What a rule needs to know decides when it is asked: one that needs
// the time is asked at every call, one that needs the chain (depth, origin) once for each such chain, all
// others once per caller, agent and capability. A rule that fails denies.

import type { Principal } from '../principal.ts';
import {
  AgentFacts,
  type CallFacts,
  type PolicyAgent,
  type PolicyCall,
  PrincipalFacts,
  toFacts,
} from './facts.ts';
import {
  ALLOWED,
  type Decision,
  type PolicyOptions,
  type PolicySpec,
  type Remaining,
  Rules,
} from './rules.ts';

export class Policy {
  readonly #rules: Rules;
  readonly #known = new WeakMap<Principal, WeakMap<PolicyAgent, KnownAgent>>();

  /** Throws for a rule that does not compile; the configuration reports that before, with its line. */
  constructor(spec: PolicySpec, options: PolicyOptions = {}) {
    this.#rules = new Rules(spec, options);
  }

  /** Whether a call of anything that the agent offers could be allowed. */
  mayReach(principal: Principal, agent: PolicyAgent): boolean {
    if (this.#hasNoRuleFor(agent)) return true;
    const known = this.#knownOf(principal, agent);
    known.reach ??= this.#rules.ask('agent', { ...known.facts, capability: '' }, principal, agent);
    return known.reach.isOpen;
  }

  /** Why no call of this capability can be allowed, whenever it is made; `undefined` when one can. */
  hides(principal: Principal, agent: PolicyAgent, capability: string): Decision | undefined {
    if (this.#hasNoRuleFor(agent)) return undefined;
    const remaining = this.#remaining(principal, agent, capability);
    return remaining.isOpen ? undefined : remaining.otherwise;
  }

  decide(principal: Principal, agent: PolicyAgent, capability: string, call: PolicyCall): Decision {
    if (this.#hasNoRuleFor(agent)) return ALLOWED;
    const { undecided, otherwise, onChain } = this.#remaining(principal, agent, capability);
    if (undecided.length === 0) return otherwise;
    const chain = `${call.depth} ${call.originTier}`;
    const known = onChain.get(chain);
    if (known?.undecided.length === 0) return known.otherwise;
    const target = { ...this.#knownOf(principal, agent).facts, capability };
    const facts = toFacts(target, call);
    const left = known ?? this.#rules.narrow(undecided, 'chain', facts, otherwise);
    if (!known) onChain.set(chain, left);
    return this.#rules.narrow(left.undecided, 'call', facts, left.otherwise).otherwise;
  }

  #hasNoRuleFor({ auth }: PolicyAgent): boolean {
    const { isEmpty, untrusted } = this.#rules;
    return isEmpty && (!untrusted || auth?.min_tier === undefined);
  }

  #remaining(principal: Principal, agent: PolicyAgent, capability: string): Remaining {
    const known = this.#knownOf(principal, agent);
    const before = known.capabilities.get(capability);
    if (before) return before;
    const facts = { ...known.facts, capability };
    const remaining = this.#rules.ask('capability', facts, principal, agent);
    if (known.capabilities.size >= MAX_CAPABILITIES) known.capabilities.clear();
    known.capabilities.set(capability, remaining);
    return remaining;
  }

  #knownOf(principal: Principal, agent: PolicyAgent): KnownAgent {
    const agents = this.#known.get(principal) ?? new WeakMap<PolicyAgent, KnownAgent>();
    const before = agents.get(agent);
    if (before) return before;
    this.#known.set(principal, agents);
    const known = {
      facts: { principal: new PrincipalFacts(principal), agent: new AgentFacts(agent) },
      reach: undefined,
      capabilities: new Map(),
    };
    agents.set(agent, known);
    return known;
  }
}

/** An agent as one caller meets it. */
interface KnownAgent {
  readonly facts: Omit<CallFacts, 'capability'>;
  reach: Remaining | undefined;
  readonly capabilities: Map<string, Remaining>;
}

const MAX_CAPABILITIES = 10_000;
