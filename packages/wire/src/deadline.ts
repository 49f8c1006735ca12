// Time limits, cheap enough for two per call. Many timers share one Node timer. Expiry is rounded up to a
// shared bucket: to 16 ms for short waits, to 1/64 of the wait for long ones, so a timer is never early and
// late by at most that. The Node timer never keeps the process alive, and expiry runs in no caller's async
// context. A limit is an AbortSignal without AbortSignal.any or AbortSignal.timeout, with one listener per
// parent however many follow it (adding one takes time in the number that the signal already has).

import type { FabricError } from '@starloom/core';
import { failure } from './reasons.ts';
import { type MonotonicClock, TimerBuckets } from './timer-buckets.ts';

const FINEST_MS = 16;
const COARSEST_MS = 2 ** 30;
const BUCKETS_PER_WAIT = 64;

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

export class TimerWheel extends TimerBuckets {
  now(): number {
    return this.clock.monotonic();
  }

  /** Lets `timer` expire in `ms` milliseconds; `timer.unlink()` cancels that. */
  add(timer: WheelTimer, ms: number): void {
    const due = roundUp(this.clock.monotonic() + ms, resolutionOf(ms));
    let bucket = this.buckets.get(due);
    if (bucket === undefined) {
      bucket = new WheelTimer();
      this.buckets.set(due, bucket);
    }
    timer.insertBefore(bucket);
    if (due < this.armedFor) this.arm(due);
  }

  schedule(ms: number, onExpire: () => void): WheelTimer {
    const timer = new CallbackTimer(onExpire);
    this.add(timer, ms);
    return timer;
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

/** The largest power of two within 1/64 of the wait, from 16 ms up. */
function resolutionOf(ms: number): number {
  const share = ms / BUCKETS_PER_WAIT;
  if (share <= FINEST_MS) return FINEST_MS;
  return 1 << (31 - Math.clz32(Math.min(share, COARSEST_MS)));
}

function roundUp(moment: number, resolution: number): number {
  return Math.ceil(moment / resolution) * resolution;
}

interface DeadlineSignalOptions {
  /** Zero or less has passed already; Infinity never passes, and only the parent aborts. */
  readonly ms: number;
  /** What the signal aborts with in time; the default is a TIMEOUT that says `ms`. */
  readonly reason?: FabricError | (() => FabricError);
  /** When it aborts, the signal does too, with the same reason. */
  readonly parent?: AbortSignal | undefined;
  readonly clock?: MonotonicClock | undefined;
}

export interface DeadlineSignal extends Disposable {
  readonly signal: AbortSignal;
  /** Forgets the limit and the parent; the signal then never aborts. */
  cancel(): void;
  /** Milliseconds until the limit; the clock stands still during a pause. */
  remainingMs(): number;
  /** Stops the clock, not the parent, until it is disposed of; of several pauses, until all are. */
  pause(): Disposable;
  /** Aborts the signal now; does nothing after `cancel`. */
  abort(reason: unknown): void;
  /**
   * What the promise settles with, or the reason of the signal if that comes first. For one promise at a
   * time; cheaper than a listener of the signal.
   */
  until<T>(promise: Promise<T>): Promise<T>;
}

export function deadlineSignal(options: DeadlineSignalOptions): DeadlineSignal {
  if (Number.isNaN(options.ms)) throw failure('not_a_number');
  const deadline = new PendingDeadline(options);
  deadline.start();
  return deadline;
}

class PendingDeadline extends WheelTimer implements DeadlineSignal {
  readonly #options: DeadlineSignalOptions;
  readonly #controller = new AbortController();
  /** On the clock of the wheel. */
  #endsAt = Number.POSITIVE_INFINITY;
  /** While the clock stands still. */
  #leftMs: number | undefined;
  #pauses = 0;
  #isOver = false;
  #followed: Followers | undefined;
  #rejectWaiting: ((reason: unknown) => void) | undefined;

  constructor(options: DeadlineSignalOptions) {
    super();
    this.#options = options;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  start(): void {
    const { ms, parent } = this.#options;
    if (parent?.aborted) this.abort(parent.reason);
    else if (ms <= 0) this.expire();
    else {
      this.#run(ms);
      if (parent !== undefined) this.#follow(parent);
    }
  }

  remainingMs(): number {
    return this.#leftMs ?? this.#endsAt - timerWheelOf(this.#options.clock).now();
  }

  pause(): Disposable {
    if (this.#pauses === 0) this.#leftMs = this.remainingMs();
    this.#pauses += 1;
    this.unlink();
    return { [Symbol.dispose]: () => this.#resume() };
  }

  #resume(): void {
    this.#pauses -= 1;
    const leftMs = this.#leftMs;
    if (this.#pauses > 0 || this.#isOver || leftMs === undefined) return;
    this.#leftMs = undefined;
    if (leftMs <= 0) this.expire();
    else this.#run(leftMs);
  }

  #run(ms: number): void {
    if (ms === Number.POSITIVE_INFINITY) return;
    const wheel = timerWheelOf(this.#options.clock);
    this.#endsAt = wheel.now() + ms;
    wheel.add(this, ms);
  }

  cancel(): void {
    this.#isOver = true;
    this.unlink();
    this.#followed?.delete(this);
    this.#followed = undefined;
  }

  [Symbol.dispose](): void {
    this.cancel();
  }

  override expire(): void {
    const { reason, ms } = this.#options;
    this.abort(typeof reason === 'function' ? reason() : (reason ?? timeoutAfter(ms)));
  }

  abort(reason: unknown): void {
    if (this.#isOver) return;
    this.cancel();
    this.#controller.abort(reason);
    this.#rejectWaiting?.(reason);
  }

  until<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isOver && this.signal.aborted) reject(this.signal.reason);
      this.#rejectWaiting = reject;
      promise.then(resolve, reject);
    });
  }

  #follow(parent: AbortSignal): void {
    this.#followed = followersOf(parent);
    this.#followed.add(this);
  }
}

/** The deadlines that follow one parent; listens to it only while there are any. */
class Followers {
  readonly #parent: AbortSignal;
  readonly #deadlines = new Set<PendingDeadline>();

  constructor(parent: AbortSignal) {
    this.#parent = parent;
  }

  add(deadline: PendingDeadline): void {
    if (this.#deadlines.size === 0) this.#parent.addEventListener('abort', this);
    this.#deadlines.add(deadline);
  }

  delete(deadline: PendingDeadline): void {
    this.#deadlines.delete(deadline);
    if (this.#deadlines.size === 0) this.#parent.removeEventListener('abort', this);
  }

  handleEvent(): void {
    for (const deadline of this.#deadlines) deadline.abort(this.#parent.reason);
  }
}

const FOLLOWERS = Symbol('followers');

/** Kept on the parent itself: a WeakMap costs more than the rest of a deadline together. */
function followersOf(parent: AbortSignal & { [FOLLOWERS]?: Followers }): Followers {
  parent[FOLLOWERS] ??= new Followers(parent);
  return parent[FOLLOWERS];
}

/** What is left of a whole call is no round number. */
function timeoutAfter(exactMs: number): FabricError {
  return failure('time_limit', { timeout_ms: Math.round(exactMs) });
}
