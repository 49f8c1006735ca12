import type { Clock } from '@starloom/core';

const STEP_MS = 100;
const MAX_MS = 60_000;

/** How long to wait before something that keeps failing is tried again: not at all, then longer. */
export class Backoff {
  readonly #clock: Clock;
  #failures = 0;
  #notBefore = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  failed(): void {
    this.#failures += 1;
    const wait = this.#failures === 1 ? 0 : STEP_MS * 2 ** (this.#failures - 2);
    this.#notBefore = this.#clock.monotonic() + Math.min(wait, MAX_MS);
  }

  succeeded(): void {
    this.#failures = 0;
    this.#notBefore = 0;
  }

  remainingMs(): number {
    return Math.max(0, this.#notBefore - this.#clock.monotonic());
  }
}
