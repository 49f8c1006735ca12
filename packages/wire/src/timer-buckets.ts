// The buckets of a timer wheel, and the one Node timer that waits for the next of them to be due. It never
// keeps the process alive, and what expires runs in no caller's async context.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '@starloom/core';
import type { WheelTimer } from './deadline.ts';

export type MonotonicClock = Pick<Clock, 'monotonic'>;

const MAX_NODE_TIMER_MS = 2 ** 31 - 1;

export class TimerBuckets {
  protected readonly clock: MonotonicClock;
  /** Keyed by the moment they are due; each holds a ring of timers that starts and ends with it. */
  protected readonly buckets = new Map<number, WheelTimer>();
  protected armedFor = Number.POSITIVE_INFINITY;
  readonly #inNeutralContext = AsyncLocalStorage.snapshot();
  #nodeTimer: NodeJS.Timeout | undefined;

  constructor(clock: MonotonicClock) {
    this.clock = clock;
  }

  /** Timers that wait. Counts them one by one: for tests. */
  get size(): number {
    let count = 0;
    for (const bucket of this.buckets.values()) {
      for (let timer = bucket.next; timer !== bucket; timer = timer.next) count += 1;
    }
    return count;
  }

  /**
   * Expires what is due, in order; one that throws keeps no other waiting, and surfaces at the end.
   * The wheel calls this itself; tests that move their own clock do, too.
   */
  run(): void {
    const now = this.clock.monotonic();
    const errors: unknown[] = [];
    const due = [...this.buckets].filter(([moment]) => moment <= now);
    for (const [moment, bucket] of due.sort(([a], [b]) => a - b)) {
      expireAll(bucket, errors);
      this.buckets.delete(moment);
    }
    this.#rearm();
    if (errors.length > 0) throw errors[0];
  }

  protected arm(moment: number): void {
    clearTimeout(this.#nodeTimer);
    this.armedFor = moment;
    if (moment === Number.POSITIVE_INFINITY) return;
    const wait = Math.max(1, Math.ceil(moment - this.clock.monotonic()));
    this.#nodeTimer = this.#inNeutralContext(
      setTimeout,
      () => this.run(),
      Math.min(wait, MAX_NODE_TIMER_MS),
    );
    this.#nodeTimer.unref();
  }

  #rearm(): void {
    let earliest = Number.POSITIVE_INFINITY;
    for (const [moment, bucket] of this.buckets) {
      if (!bucket.waits) this.buckets.delete(moment);
      else if (moment < earliest) earliest = moment;
    }
    this.arm(earliest);
  }
}

function expireAll(bucket: WheelTimer, errors: unknown[]): void {
  while (bucket.waits) {
    const timer = bucket.next;
    timer.unlink();
    try {
      timer.expire();
    } catch (error) {
      errors.push(error);
    }
  }
}
