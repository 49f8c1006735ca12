import type { Clock } from '../clock.ts';

/** A clock that stands still until a test advances it. */
export class ManualClock implements Clock {
  #now: number;
  #monotonic = 0;

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  advance(ms: number): void {
    this.#now += ms;
    this.#monotonic += ms;
  }
}
