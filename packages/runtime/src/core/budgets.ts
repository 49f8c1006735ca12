// What one turn may use. Steps, tokens and money are looked at before each step, so an answer that
// is there is never thrown away; seconds are a deadline that cuts whatever is running.

import type { FabricError } from '@starloom/core';
import type { ResponseMetadata, Usage } from '@starloom/sdk';
import { z } from 'zod';
import type { AgentFile } from '../config/agent-file.ts';
import { failure } from '../reasons.ts';
import type { Emit } from './event-bus.ts';
import type { TurnResult } from './seams.ts';

/** `limits` of agent.json. */
export type Limits = AgentFile['limits'];

const MILLION = 1_000_000;

/** What the turn that delegates has left: everything that its helpers use counts there, too. */
export interface BudgetAbove {
  /** Throws when nothing is left. */
  openStep(): void;
  spend(metadata: ResponseMetadata, estimate: Usage): void;
}

/** What a caller grants for a task. */
export const budgetSchema = z.object({
  steps: z.int().positive().optional().describe('Questions to its model'),
  tokens: z.int().positive().optional(),
  seconds: z.number().positive().optional(),
  money: z.number().positive().optional(),
});

/** Absent fields are not limited. */
export type Budget = Readonly<z.output<typeof budgetSchema>>;

/** The limits, where a caller grants less than they do. */
export function withinBudget(limits: Limits, ...budgets: readonly (Budget | undefined)[]): Limits {
  const { money } = limits;
  const own = { ...limits, money: money?.limit };
  const { money: limit, ...least } = leastOf(own, ...budgets) as Record<keyof Budget, number>;
  return { ...limits, ...least, ...(money && { money: { ...money, limit } }) };
}

/** Of each, the smallest that is there. */
export function leastOf(...budgets: readonly (Budget | undefined)[]): Budget {
  const least = (name: keyof Budget) => {
    const given = budgets.flatMap((one) => one?.[name] ?? []);
    return given.length > 0 ? { [name]: Math.min(...given) } : {};
  };
  return { ...least('steps'), ...least('tokens'), ...least('seconds'), ...least('money') };
}

export class TurnBudget implements BudgetAbove {
  readonly #limits: Limits;
  readonly #emit: Emit;
  readonly #above: BudgetAbove | undefined;
  readonly #usage: TurnResult['usage'] = { inputTokens: 0, outputTokens: 0 };
  #steps = 0;
  #money = 0;

  constructor(limits: Limits, emit: Emit, above?: BudgetAbove) {
    this.#limits = limits;
    this.#emit = emit;
    this.#above = above;
  }

  get steps(): number {
    return this.#steps;
  }

  get usage(): TurnResult['usage'] {
    return { ...this.#usage };
  }

  /** Of the limits: what is not used yet. */
  get left(): Limits {
    const { steps, tokens, money, ...others } = this.#limits;
    const used = this.#usage.inputTokens + this.#usage.outputTokens;
    return {
      ...others,
      steps: Math.max(0, steps - this.#steps),
      tokens: Math.max(0, tokens - used),
      ...(money && { money: { ...money, limit: Math.max(0, money.limit - this.#money) } }),
    };
  }

  /** Counts one more question to the model, or refuses it. */
  openStep(): void {
    const { steps, tokens, money } = this.#limits;
    const { inputTokens, outputTokens } = this.#usage;
    this.#assertWithin('steps', this.#steps, steps);
    this.#assertWithin('tokens', inputTokens + outputTokens, tokens);
    if (money) this.#assertWithin('money', this.#money, money.limit);
    this.#above?.openStep();
    this.#steps += 1;
  }

  /** What an answer used; a provider that does not say is taken at `estimate`. */
  spend(metadata: ResponseMetadata, estimate: Usage): void {
    const used = { ...estimate, ...definedNumbers(metadata.usage ?? {}) };
    for (const key of USAGE_KEYS) {
      const count = used[key];
      if (count !== undefined) this.#usage[key] = (this.#usage[key] ?? 0) + count;
    }
    const { cost } = metadata;
    this.#money += isCount(cost) ? cost : priceOf(used, this.#limits.money);
    this.#above?.spend(metadata, estimate);
  }

  /** What ends the turn when its time is over. */
  timeUp(): FabricError {
    const { seconds } = this.#limits;
    return this.#toFailure('budget/seconds', 'seconds', seconds, seconds);
  }

  #assertWithin(budget: string, used: number, limit: number): void {
    if (used >= limit) throw this.#toFailure('budget', budget, used, limit);
  }

  #toFailure(key: 'budget' | 'budget/seconds', budget: string, used: number, limit: number) {
    this.#emit('SAFETY:BUDGET', { budget, limit, used });
    return failure(key, { budget, limit, used, steps: this.#steps, usage: this.usage });
  }
}

const USAGE_KEYS = [
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'reasoningTokens',
] as const satisfies readonly (keyof Usage)[];

function definedNumbers(usage: Usage): Usage {
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => isCount(count)));
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

/** Cached tokens are part of the input; where they have a price of their own, it holds. */
function priceOf(usage: Usage, prices: Limits['money']): number {
  if (prices === undefined) return 0;
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  const fresh = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  const total =
    fresh * prices.input +
    cacheReadTokens * (prices.cache_read ?? prices.input) +
    cacheWriteTokens * (prices.cache_write ?? prices.input) +
    outputTokens * prices.output;
  return total / MILLION;
}
