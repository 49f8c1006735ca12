// What bodies that are still being read may hold in memory: bounded for each principal and in all, so
// that many unfinished uploads of one caller leave room for the others.

import { FabricError } from '@starloom/core';

const MAX_PER_PRINCIPAL = 64 * 1024 ** 2;
const MAX_IN_ALL = 512 * 1024 ** 2;

export class BodyBudget {
  readonly #held = new Map<string, number>();
  #total = 0;

  open(principalId: string): BodyShare {
    return new BodyShare(this, principalId);
  }

  /** OVERLOADED when these bytes do not fit any more. */
  take(principalId: string, bytes: number): void {
    const held = (this.#held.get(principalId) ?? 0) + bytes;
    if (held > MAX_PER_PRINCIPAL || this.#total + bytes > MAX_IN_ALL) throw tooMuch();
    this.#total += bytes;
    this.#held.set(principalId, held);
  }

  give(principalId: string, bytes: number): void {
    const held = (this.#held.get(principalId) ?? 0) - bytes;
    this.#total -= bytes;
    if (held > 0) this.#held.set(principalId, held);
    else this.#held.delete(principalId);
  }
}

/** What one body holds of it, until it is given back. */
export class BodyShare {
  readonly #budget: BodyBudget;
  readonly #principalId: string;
  #taken = 0;

  constructor(budget: BodyBudget, principalId: string) {
    this.#budget = budget;
    this.#principalId = principalId;
  }

  take(bytes: number): void {
    this.#budget.take(this.#principalId, bytes);
    this.#taken += bytes;
  }

  giveBack(): void {
    this.#budget.give(this.#principalId, this.#taken);
    this.#taken = 0;
  }
}

function tooMuch(): FabricError {
  return new FabricError('OVERLOADED', 'Too many request bodies are being sent at once', {
    details: { reason: 'bodies_in_progress', retry_after_ms: 1_000, fix: 'send fewer at a time' },
  });
}
