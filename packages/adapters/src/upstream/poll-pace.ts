import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs, FabricError } from '@starloom/core';

const FIRST_MS = 20;

/** The waits between polls: short at first and after news, then doubling up to a limit. */
export class PollPace {
  readonly #longestMs: number;
  readonly #signal: AbortSignal;
  #tries = 0;

  constructor(longestMs: number, signal: AbortSignal) {
    this.#longestMs = longestMs;
    this.#signal = signal;
  }

  /** Rejects with the reason of the signal. */
  async wait(hadNews: boolean): Promise<void> {
    this.#tries = hadNews ? 1 : this.#tries + 1;
    const ms = backoffMs({ firstMs: FIRST_MS, longestMs: this.#longestMs, tries: this.#tries });
    await delay(ms, undefined, { signal: this.#signal }).catch(() => {
      throw FabricError.from(this.#signal.reason);
    });
  }
}
