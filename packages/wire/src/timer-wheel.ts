// Many timers on one Node timer. Expiry is rounded up to a shared bucket: to 16 ms for short waits,
// to 1/64 of the wait for long ones, so a timer is never early and late by at most that. The Node
// timer never keeps the process alive, and expiry runs in no caller's async context.

import { AsyncLocalStorage } from 'node:async_hooks';

/** The part of core's `Clock` that waiting needs. */
export interface MonotonicClock {
  /** Milliseconds since some fixed moment; never steps back. */
  monotonic(): number;
}

const FINEST_MS = 16;
const COARSEST_MS = 2 ** 30;
const BUCKETS_PER_WAIT = 64;
const LONGEST_NODE_TIMER_MS = 2 ** 31 - 1;

/** Something that waits in a wheel; a subclass says what happens when its time has come. */
export class WheelTimer {
  /** Neighbours in the bucket; a timer that waits nowhere is its own neighbour. */
  next: WheelTimer = this;
  previous: WheelTimer = this;

  get waits(): boolean {
    return this.next !== this;
  }

  insertBefore(other: WheelTimer): void {
    this.next = other;
    this.previous = other.previous;
    other.previous.next = this;
    other.previous = this;
  }

  /** Leaves the bucket; does nothing when it has left already. */
  unlink(): void {
    this.next.previous = this.previous;
    this.previous.next = this.next;
    this.next = this;
    this.previous = this;
  }

  expire(): void {}
}

export class TimerWheel {
  readonly #clock: MonotonicClock;
  readonly #inNeutralContext = AsyncLocalStorage.snapshot();
  /** Keyed by the moment they are due; each holds a ring of timers that starts and ends with it. */
  readonly #buckets = new Map<number, WheelTimer>();
  #nodeTimer: NodeJS.Timeout | undefined;
  #armedFor = Number.POSITIVE_INFINITY;

  constructor(clock: MonotonicClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.monotonic();
  }

  /** Timers that wait. Counts them one by one: for tests and metrics. */
  get size(): number {
    let count = 0;
    for (const bucket of this.#buckets.values()) {
      for (let timer = bucket.next; timer !== bucket; timer = timer.next) count += 1;
    }
    return count;
  }

  /** Lets `timer` expire in `ms` milliseconds; `timer.unlink()` cancels that. */
  add(timer: WheelTimer, ms: number): void {
    const due = roundUp(this.#clock.monotonic() + ms, resolutionOf(ms));
    let bucket = this.#buckets.get(due);
    if (bucket === undefined) {
      bucket = new WheelTimer();
      this.#buckets.set(due, bucket);
    }
    timer.insertBefore(bucket);
    if (due < this.#armedFor) this.#arm(due);
  }

  schedule(ms: number, onExpire: () => void): WheelTimer {
    const timer = new CallbackTimer(onExpire);
    this.add(timer, ms);
    return timer;
  }

  /**
   * Expires what is due, in order; one that throws keeps no other waiting, and surfaces at the end.
   * The wheel calls this itself; tests that move their own clock do, too.
   */
  run(): void {
    const now = this.#clock.monotonic();
    const errors: unknown[] = [];
    const due = [...this.#buckets].filter(([moment]) => moment <= now);
    for (const [moment, bucket] of due.sort(([a], [b]) => a - b)) {
      expireAll(bucket, errors);
      this.#buckets.delete(moment);
    }
    this.#rearm();
    if (errors.length > 0) throw errors[0];
  }

  #rearm(): void {
    let earliest = Number.POSITIVE_INFINITY;
    for (const [moment, bucket] of this.#buckets) {
      if (!bucket.waits) this.#buckets.delete(moment);
      else if (moment < earliest) earliest = moment;
    }
    this.#arm(earliest);
  }

  #arm(moment: number): void {
    clearTimeout(this.#nodeTimer);
    this.#armedFor = moment;
    if (moment === Number.POSITIVE_INFINITY) return;
    const wait = Math.max(1, Math.ceil(moment - this.#clock.monotonic()));
    this.#nodeTimer = this.#inNeutralContext(
      setTimeout,
      () => this.run(),
      Math.min(wait, LONGEST_NODE_TIMER_MS),
    );
    this.#nodeTimer.unref();
  }
}

const wheels = new WeakMap<MonotonicClock, TimerWheel>();
const processWheel = new TimerWheel({ monotonic: () => performance.now() });

/** The wheel of a clock; without one, the wheel that the whole process shares. */
export function timerWheelOf(clock?: MonotonicClock): TimerWheel {
  if (clock === undefined) return processWheel;
  let wheel = wheels.get(clock);
  if (wheel === undefined) {
    wheel = new TimerWheel(clock);
    wheels.set(clock, wheel);
  }
  return wheel;
}

class CallbackTimer extends WheelTimer {
  readonly #onExpire: () => void;

  constructor(onExpire: () => void) {
    super();
    this.#onExpire = onExpire;
  }

  override expire(): void {
    this.#onExpire();
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

/** The largest power of two within 1/64 of the wait, from 16 ms up. */
function resolutionOf(ms: number): number {
  const share = ms / BUCKETS_PER_WAIT;
  if (share <= FINEST_MS) return FINEST_MS;
  return 2 ** (31 - Math.clz32(Math.min(share, COARSEST_MS)));
}

function roundUp(moment: number, resolution: number): number {
  return Math.ceil(moment / resolution) * resolution;
}
