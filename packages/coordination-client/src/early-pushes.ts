// Pushes that come before the answer which tells whose they are. They are kept only while such an
// answer is awaited, and no more of each name than a subscription would keep.

import { MOST_WAITING, type Push } from './subscription.ts';

interface Kept {
  readonly pushes: Push[];
  /** There were more. */
  isCut: boolean;
}

export class EarlyPushes {
  readonly #kept = new Map<string, Kept>();
  #awaited = 0;

  /** Keeps pushes until the work is done. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#awaited += 1;
    try {
      return await work();
    } finally {
      this.#awaited -= 1;
      if (this.#awaited === 0) this.#kept.clear();
    }
  }

  keep(id: string, push: Push): void {
    if (this.#awaited === 0) return;
    const kept = this.#kept.get(id) ?? { pushes: [], isCut: false };
    this.#kept.set(id, kept);
    if (kept.pushes.length < MOST_WAITING) kept.pushes.push(push);
    else kept.isCut = true;
  }

  take(id: string): Readonly<Kept> {
    const kept = this.#kept.get(id) ?? { pushes: [], isCut: false };
    this.#kept.delete(id);
    return kept;
  }

  clear(): void {
    this.#kept.clear();
  }
}
