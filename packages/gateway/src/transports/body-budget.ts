// What bodies that are still being read may hold in memory: bounded for each principal and in all, so
// that many unfinished uploads of one caller leave room for the others.

import { FabricError } from '@starloom/core';

const MAX_PER_PRINCIPAL = 64 * 1024 ** 2;
const MAX_IN_ALL = 512 * 1024 ** 2;

export interface BodyShare extends Disposable {
  /** OVERLOADED when these bytes do not fit any more. */
  take(bytes: number): void;
}

export class BodyBudget {
  readonly #held = new Map<string, number>();
  #total = 0;

  open(principalId: string): BodyShare {
    let taken = 0;
    return {
      take: (bytes) => {
        const held = this.#held.get(principalId) ?? 0;
        if (held + bytes > MAX_PER_PRINCIPAL || this.#total + bytes > MAX_IN_ALL) throw tooMuch();
        taken += bytes;
        this.#total += bytes;
        this.#held.set(principalId, held + bytes);
      },
      [Symbol.dispose]: () => {
        const held = (this.#held.get(principalId) ?? 0) - taken;
        this.#total -= taken;
        if (held > 0) this.#held.set(principalId, held);
        else this.#held.delete(principalId);
      },
    };
  }
}

function tooMuch(): FabricError {
  return new FabricError('OVERLOADED', 'Too many request bodies are being sent at once', {
    details: { reason: 'bodies_in_progress', retry_after_ms: 1_000, fix: 'send fewer at a time' },
  });
}
