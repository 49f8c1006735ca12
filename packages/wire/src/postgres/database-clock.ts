import type { Clock } from '@starloom/core';

/** The time of the database, once it is known: gateways agree on leases, however their own clocks are set. */
export class DatabaseClock implements Clock {
  #now = Date.now();
  #at = performance.now();

  set(now: number): void {
    this.#now = now;
    this.#at = performance.now();
  }

  now(): number {
    return Math.floor(this.#now + this.monotonic() - this.#at);
  }

  monotonic(): number {
    return performance.now();
  }
}
