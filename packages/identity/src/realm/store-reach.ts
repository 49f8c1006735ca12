import type { FabricError, Log } from '@starloom/core';

export interface ReachWords {
  /** What follows from a store that cannot be reached. */
  readonly away: string;
  readonly back: string;
}

/** Whether the store of the realm can be reached; the log says when that changes, and only then. */
export class StoreReach {
  readonly #log: Log;
  readonly #words: ReachWords;
  #isAway = false;

  constructor(log: Log, words: ReachWords) {
    this.#log = log;
    this.#words = words;
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  reached(): void {
    if (this.#isAway) this.#log.info({}, this.#words.back);
    this.#isAway = false;
  }

  failed(error: FabricError): void {
    if (!this.#isAway) this.#log.warn({ error, fix: error.details.fix }, this.#words.away);
    this.#isAway = true;
  }
}
