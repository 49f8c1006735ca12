// When a whole call must be over, and what an attempt inside it may take. Arithmetic only, on the
// monotonic clock: `@starloom/wire` turns a deadline into an AbortSignal.

import type { Clock } from './clock.ts';
import { FabricError } from './errors.ts';

/** A call gets this many attempts' worth of time unless it says otherwise. */
const DEADLINE_FACTOR = 3;

export class Deadline {
  readonly #clock: Clock;
  /** On the monotonic clock. */
  #at: number;
  /** What the call was given in all. */
  readonly totalMs: number;

  constructor(totalMs: number, clock: Clock) {
    this.totalMs = totalMs;
    this.#clock = clock;
    this.#at = clock.monotonic() + totalMs;
  }

  /** Never negative. */
  remainingMs(): number {
    return Math.max(0, this.#at - this.#clock.monotonic());
  }

  get passed(): boolean {
    return this.remainingMs() === 0;
  }

  /** The time of the next attempt: what it asks for, within what is left. */
  attemptMs(timeoutMs: number): number {
    return Math.min(timeoutMs, this.remainingMs());
  }

  /** Gives more time, such as what a question was open for. */
  extend(ms: number): void {
    this.#at += ms;
  }

  assertOpen(): void {
    if (!this.passed) return;
    throw new FabricError('TIMEOUT', `The call did not finish within ${this.totalMs} ms`, {
      details: { deadline_ms: this.totalMs, fix: 'raise deadline_ms, or ask for less' },
    });
  }
}

export function defaultDeadlineMs(timeoutMs: number): number {
  return DEADLINE_FACTOR * timeoutMs;
}
