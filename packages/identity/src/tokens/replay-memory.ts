/** How many ids are kept; at most five minutes of calls. */
const MOST = 100_000;

/**
 * Remembers ids of tokens until they expire, in bounded memory. When it is full of ids that have not
 * expired, everything is refused: forgetting one would let it in again.
 */
export class ReplayMemory {
  readonly #most: number;
  /** Ids and when they expire, in milliseconds. */
  readonly #seen = new Map<string, number>();

  constructor(most = MOST) {
    this.#most = most;
  }

  /** True once for each id. */
  isNew(id: string, expiresAt: number, now: number): boolean {
    if (this.#seen.has(id)) return false;
    if (this.#seen.size >= this.#most) this.#forgetExpired(now);
    if (this.#seen.size >= this.#most) return false;
    // Longer than the token is accepted with clocks that differ.
    this.#seen.set(id, expiresAt + GRACE_MS);
    return true;
  }

  #forgetExpired(now: number): void {
    for (const [id, until] of this.#seen) if (until <= now) this.#seen.delete(id);
  }
}

const GRACE_MS = 60_000;
