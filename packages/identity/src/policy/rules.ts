// The rules of a configuration, compiled, and which of them can be asked with what is known.

import { isTrustedAs, type TrustTier } from '@starloom/core';
import type { Principal } from '../principal.ts';
import { compileExpression, type Expression } from './expression.ts';
import { type CallFacts, NEEDS, type Needs, type PolicyAgent } from './facts.ts';

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

/** Names of decisions that no rule of the configuration made. */
export const BUILT_IN_RULES = ['default', 'min_tier', 'scopes'] as const;

export const NO_RULES: PolicySpec = { rules: [], default: 'allow', untrusted: 'deny' };
export const ALLOWED: Decision = Object.freeze({ effect: 'allow' });

interface Rule {
  readonly decision: Decision;
  readonly needs: Needs;
  readonly matches: (facts: CallFacts) => boolean;
}

/** What is left to ask, in order, and what holds when none of that matches. */
export interface Remaining {
  readonly undecided: readonly Rule[];
  readonly otherwise: Decision;
  /** What is left for calls of one depth and origin. */
  readonly onChain: Map<string, Remaining>;
  /** Whether a rule could still let a call pass. What an agent demands of origins only narrows that. */
  readonly isOpen: boolean;
}

export interface PolicyOptions {
  /** Stands before the names of its rules, in decisions. */
  readonly prefix?: string | undefined;
  /** A rule failed, which denied. */
  readonly onFailure?: ((rule: string, error: unknown) => void) | undefined;
}

export class Rules {
  /** Whether every call is allowed, as far as rules go. */
  readonly isEmpty: boolean;
  readonly untrusted: Decision | undefined;
  readonly #rules: readonly Rule[];
  readonly #otherwise: Decision;
  readonly #onFailure: PolicyOptions['onFailure'];

  constructor(spec: PolicySpec, { prefix = '', onFailure }: PolicyOptions) {
    const { rules, untrusted } = spec;
    this.#rules = rules.map((rule) => toRule({ ...rule, name: `${prefix}${rule.name}` }));
    const denied: Decision = { effect: 'deny', rule: `${prefix}default` };
    this.#otherwise = spec.default === 'deny' ? denied : ALLOWED;
    this.untrusted = untrusted && { effect: untrusted, rule: 'min_tier' };
    this.#onFailure = onFailure;
    this.isEmpty = rules.length === 0 && spec.default === 'allow';
  }

  /** Asks every rule that needs no more than is known, up to the first that matches. */
  ask(known: Needs, facts: CallFacts, principal: Principal, agent: PolicyAgent): Remaining {
    const least = agent.auth?.min_tier;
    if (least === undefined || !this.untrusted)
      return this.narrow(this.#rules, known, facts, this.#otherwise);
    // The origin of a chain is never above the caller.
    if (!isTrustedAs(principal.tier, least)) return toRemaining([], this.untrusted);
    const rules = [untrustedRule(least, this.untrusted), ...this.#rules];
    return this.narrow(rules, known, facts, this.#otherwise);
  }

  /** Asks those of the rules that need no more than is known; `otherwise` holds when none matches. */
  narrow(rules: readonly Rule[], known: Needs, facts: CallFacts, otherwise: Decision): Remaining {
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
}

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
