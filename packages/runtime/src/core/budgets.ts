// What one turn may use. Steps, tokens and money are looked at before each step, so an answer that
// is there is never thrown away; seconds are a deadline that cuts whatever is running.

import { FabricError } from '@starloom/core';
import type { ResponseMetadata, Usage } from '@starloom/sdk';
import type { Emit } from './event-bus.ts';
import type { TurnResult } from './seams.ts';

export interface Limits {
  /** How often the model may be asked. */
  readonly steps: number;
  /** Read and written together. */
  readonly tokens: number;
  readonly seconds: number;
  /** In the currency of the prices. */
  readonly money?: number | undefined;
}

/** Of a million tokens. */
export interface Prices {
  readonly input: number;
  readonly output: number;
  readonly cache_read?: number | undefined;
  readonly cache_write?: number | undefined;
}

type Budget = keyof Limits;

const MILLION = 1_000_000;

export class TurnBudget {
  readonly #limits: Limits;
  readonly #prices: Prices | undefined;
  readonly #emit: Emit;
  readonly #usage: TurnResult['usage'] = { inputTokens: 0, outputTokens: 0 };
  #steps = 0;
  #money = 0;

  constructor(limits: Limits, prices: Prices | undefined, emit: Emit) {
    this.#limits = limits;
    this.#prices = prices;
    this.#emit = emit;
  }

  get steps(): number {
    return this.#steps;
  }

  get usage(): TurnResult['usage'] {
    return { ...this.#usage };
  }

  /** Counts one more question to the model, or refuses it. */
  openStep(): void {
    this.#assertWithin('steps', this.#steps);
    this.#assertWithin('tokens', this.#usage.inputTokens + this.#usage.outputTokens);
    this.#assertWithin('money', this.#money);
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
    this.#money += isCount(cost) ? cost : priceOf(used, this.#prices);
  }

  /** What ends the turn when its time is over. */
  timeUp(): FabricError {
    return this.#exceeded('seconds', this.#limits.seconds, 'TIMEOUT');
  }

  #assertWithin(budget: Budget, used: number): void {
    const limit = this.#limits[budget];
    if (limit !== undefined && used >= limit) {
      throw this.#exceeded(budget, used, 'POLICY_DENIED');
    }
  }

  #exceeded(budget: Budget, used: number, code: 'TIMEOUT' | 'POLICY_DENIED'): FabricError {
    const limit = this.#limits[budget] ?? 0;
    this.#emit('SAFETY:BUDGET', { budget, limit, used });
    return new FabricError(code, `The turn used up its ${budget}: ${limit}`, {
      details: {
        reason: 'budget',
        budget,
        limit,
        used,
        steps: this.#steps,
        usage: this.usage,
        fix: `raise limits.${budget} in agent.json, or ask for less at once`,
      },
    });
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
function priceOf(usage: Usage, prices: Prices | undefined): number {
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
