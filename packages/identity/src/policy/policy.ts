// The rules of the configuration. The first rule that matches decides; rules narrow what scopes and
// tiers allow, and never widen it. What a rule needs to know decides when it is asked: one that needs
// the time is asked at every call, one that needs the chain (depth, origin) once for each such chain, all
// others once per caller, agent and capability. A rule that fails denies.

import { isTrustedAs, type TrustTier } from '@starloom/core';
import type { Principal } from '../authorise.ts';
import { compileExpression, type Expression } from './expression.ts';
import {
  AgentFacts,
  type CallFacts,
  NEEDS,
  type Needs,
  type PolicyAgent,
  type PolicyCall,
  PrincipalFacts,
  toFacts,
} from './facts.ts';

export { compileExpression, type ExpressionProblem, FUNCTIONS } from './expression.ts';
export {
  fromGivenAgent,
  fromGivenCall,
  fromGivenPrincipal,
  fromRecordedFacts,
  givenAgentSchema,
  givenCallFields,
  givenPrincipalSchema,
  type PolicyAgent,
  type PolicyCall,
} from './facts.ts';

export const EFFECTS = ['allow', 'deny', 'degrade'] as const;
export type Effect = (typeof EFFECTS)[number];

export interface RuleSpec {
  readonly name: string;
  /** CEL. */
  readonly when: string;
  readonly effect: Effect;
  /** For the caller that is refused. */
  readonly reason?: string | undefined;
}

export interface PolicySpec {
  readonly rules: readonly RuleSpec[];
  /** Of calls that no rule matches. */
  readonly default: 'allow' | 'deny';
  /** Of calls whose origin is below what the agent demands (`auth.min_tier`); absent: that is not asked. */
  readonly untrusted?: 'deny' | 'degrade' | undefined;
}

export interface Decision {
  readonly effect: Effect;
  /** Which rule decided; `undefined` when none did. */
  readonly rule?: string | undefined;
  readonly reason?: string | undefined;
}

interface PolicyOptions {
  /** Stands before the names of its rules, in decisions. */
  readonly prefix?: string | undefined;
  /** A rule failed, which denied. */
  readonly onFailure?: ((rule: string, error: unknown) => void) | undefined;
}

/** Names of decisions that no rule of the configuration made. */
export const BUILT_IN_RULES = ['default', 'min_tier', 'scopes'] as const;

export const NO_RULES: PolicySpec = { rules: [], default: 'allow', untrusted: 'deny' };
const ALLOWED: Decision = Object.freeze({ effect: 'allow' });

interface Rule {
  readonly decision: Decision;
  readonly needs: Needs;
  readonly matches: (facts: CallFacts) => boolean;
}

/** What is left to ask, in order, and what holds when none of that matches. */
interface Remaining {
  readonly undecided: readonly Rule[];
  readonly otherwise: Decision;
  /** What is left for calls of one depth and origin. */
  readonly onChain: Map<string, Remaining>;
  /** Whether a rule could still let a call pass. What an agent demands of origins only narrows that. */
  readonly isOpen: boolean;
}

export class Policy {
  readonly #rules: readonly Rule[];
  readonly #otherwise: Decision;
  readonly #untrusted: Decision | undefined;
  readonly #onFailure: PolicyOptions['onFailure'];
  readonly #isEmpty: boolean;
  readonly #known = new WeakMap<Principal, WeakMap<PolicyAgent, KnownAgent>>();

  /** Throws for a rule that does not compile; the configuration reports that before, with its line. */
  constructor(spec: PolicySpec, { prefix = '', onFailure }: PolicyOptions = {}) {
    const { rules, untrusted } = spec;
    this.#rules = rules.map((rule) => toRule({ ...rule, name: `${prefix}${rule.name}` }));
    const denied: Decision = { effect: 'deny', rule: `${prefix}default` };
    this.#otherwise = spec.default === 'deny' ? denied : ALLOWED;
    this.#untrusted = untrusted && { effect: untrusted, rule: 'min_tier' };
    this.#onFailure = onFailure;
    this.#isEmpty = spec.rules.length === 0 && spec.default === 'allow';
  }

  /** Whether a call of anything that the agent offers could be allowed. */
  mayReach(principal: Principal, agent: PolicyAgent): boolean {
    if (this.#hasNoRuleFor(agent)) return true;
    const known = this.#knownOf(principal, agent);
    known.reach ??= this.#ask('agent', { ...known.facts, capability: '' }, principal, agent);
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
    const left = known ?? this.#narrow(undecided, 'chain', facts, otherwise);
    if (!known) onChain.set(chain, left);
    return this.#narrow(left.undecided, 'call', facts, left.otherwise).otherwise;
  }

  #hasNoRuleFor({ auth }: PolicyAgent): boolean {
    return this.#isEmpty && (!this.#untrusted || auth?.min_tier === undefined);
  }

  #remaining(principal: Principal, agent: PolicyAgent, capability: string): Remaining {
    const known = this.#knownOf(principal, agent);
    const before = known.capabilities.get(capability);
    if (before) return before;
    const facts = { ...known.facts, capability };
    const remaining = this.#ask('capability', facts, principal, agent);
    if (known.capabilities.size >= MAX_CAPABILITIES) known.capabilities.clear();
    known.capabilities.set(capability, remaining);
    return remaining;
  }

  /** Asks every rule that needs no more than is known, up to the first that matches. */
  #ask(known: Needs, facts: CallFacts, principal: Principal, agent: PolicyAgent): Remaining {
    const least = agent.auth?.min_tier;
    if (least === undefined || !this.#untrusted)
      return this.#narrow(this.#rules, known, facts, this.#otherwise);
    // The origin of a chain is never above the caller.
    if (!isTrustedAs(principal.tier, least)) return toRemaining([], this.#untrusted);
    const rules = [untrustedRule(least, this.#untrusted), ...this.#rules];
    return this.#narrow(rules, known, facts, this.#otherwise);
  }

  #narrow(rules: readonly Rule[], known: Needs, facts: CallFacts, otherwise: Decision): Remaining {
    const undecided: Rule[] = [];
    for (const rule of rules) {
      if (NEEDS.indexOf(rule.needs) > NEEDS.indexOf(known)) undecided.push(rule);
      else {
        const decision = this.#try(rule, facts);
        if (decision) return toRemaining(undecided, decision);
      }
    }
    return toRemaining(undecided, otherwise);
  }

  #try(rule: Rule, facts: CallFacts): Decision | undefined {
    try {
      return rule.matches(facts) ? rule.decision : undefined;
    } catch (error) {
      const { rule: name = '' } = rule.decision;
      this.#onFailure?.(name, error);
      return { effect: 'deny', rule: name, reason: 'the rule could not be evaluated' };
    }
  }

  #knownOf(principal: Principal, agent: PolicyAgent): KnownAgent {
    const agents = this.#known.get(principal) ?? new WeakMap<PolicyAgent, KnownAgent>();
    this.#known.set(principal, agents);
    const before = agents.get(agent);
    if (before) return before;
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
function toRemaining(undecided: readonly Rule[], otherwise: Decision): Remaining {
  const written = undecided.filter(({ decision }) => decision.rule !== 'min_tier');
  const decisions = [otherwise, ...written.map(({ decision }) => decision)];
  const isOpen = decisions.some(({ effect }) => effect !== 'deny');
  return { undecided, otherwise, onChain: new Map(), isOpen };
}

function untrustedRule(least: TrustTier, decision: Decision): Rule {
  const matches = ({ origin }: CallFacts) => !origin || !isTrustedAs(origin.tier, least);
  return { decision, needs: 'chain', matches };
}

function toRule({ name, when, effect, reason }: RuleSpec): Rule {
  const compiled: Expression | { message: string } = compileExpression(when);
  if ('message' in compiled) throw new Error(`Rule "${name}": ${compiled.message}`);
  return { decision: { effect, rule: name, reason }, ...compiled };
}
