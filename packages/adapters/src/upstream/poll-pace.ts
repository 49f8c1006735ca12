import { setTimeout as delay } from 'node:timers/promises';
import { FabricError } from '@starloom/core';

const FIRST_MS = 20;

/** The waits between polls: short at first and after news, then doubling up to a limit. */
export class PollPace {
  readonly #longestMs: number;
  readonly #signal: AbortSignal;
  #nextMs = FIRST_MS;

  constructor(longestMs: number, signal: AbortSignal) {
    this.#longestMs = longestMs;
    this.#signal = signal;
  }

  /** Rejects with the reason of the signal. */
  async wait(hadNews: boolean): Promise<void> {
    const ms = Math.min(hadNews ? FIRST_MS : this.#nextMs, this.#longestMs);
    this.#nextMs = ms * 2;
    await delay(ms, undefined, { signal: this.#signal }).catch(() => {
      throw FabricError.from(this.#signal.reason);
    });
  }
}
