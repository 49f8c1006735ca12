// A time limit as an AbortSignal, cheap enough for two per call: no Node timer each, no
// AbortSignal.any or AbortSignal.timeout, and one listener per parent however many follow it
// (adding a listener to an AbortSignal takes time in the number it already has).

import { FabricError } from '@starloom/core';
import { type MonotonicClock, timerWheelOf, WheelTimer } from './timer-wheel.ts';

export interface DeadlineSignalOptions {
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
  /** Stops the limit; the parent still counts. */
  pause(): void;
  /** Goes on with what was left of the limit. */
  resume(): void;
}

export function deadlineSignal(options: DeadlineSignalOptions): DeadlineSignal {
  if (Number.isNaN(options.ms)) {
    throw new FabricError('INTERNAL', 'A deadline must be a number of milliseconds', {
      details: { reason: 'not_a_number', fix: 'pass milliseconds' },
    });
  }
  const deadline = new PendingDeadline(options);
  deadline.start();
  return deadline;
}

class PendingDeadline extends WheelTimer implements DeadlineSignal {
  readonly #options: DeadlineSignalOptions;
  readonly #controller = new AbortController();
  /** On the clock of the wheel. */
  #endsAt = Number.POSITIVE_INFINITY;
  #leftMs: number | undefined;
  #followed: Followers | undefined;

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

  pause(): void {
    if (this.#leftMs !== undefined || this.signal.aborted) return;
    this.#leftMs = this.#endsAt - timerWheelOf(this.#options.clock).now();
    this.unlink();
  }

  resume(): void {
    if (this.#leftMs === undefined || this.signal.aborted) return;
    const leftMs = this.#leftMs;
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
    this.cancel();
    this.#controller.abort(reason);
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
  const ms = Math.round(exactMs);
  return new FabricError('TIMEOUT', `No answer within ${ms} ms`, {
    details: { timeout_ms: ms, fix: 'raise the time limit, or ask for less' },
  });
}
