import { failure } from './reasons.ts';

/** Time as an argument. `now` is wall time for people; `monotonic` never steps back, for waiting. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds since some fixed moment. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

const last = { ms: Number.NaN, text: '' };

/** As ISO 8601. Many records are of the same millisecond: the text of the last one is kept. */
export function toIsoTime(ms: number): string {
  if (ms !== last.ms) {
    last.text = new Date(ms).toISOString();
    last.ms = ms;
  }
  return last.text;
}

/** A call gets this many attempts' worth of time unless it says otherwise. */
const DEADLINE_FACTOR = 3;

/**
 * When a whole call must be over, and what an attempt inside it may take. Arithmetic only, on the
 * monotonic clock: `@starloom/wire` turns a deadline into an AbortSignal.
 */
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
    throw failure('deadline', { deadline_ms: this.totalMs });
  }
}

export function defaultDeadlineMs(timeoutMs: number): number {
  return DEADLINE_FACTOR * timeoutMs;
}

/**
 * What the promise settles with, or the signal's reason if that comes first. This does not stop the
 * work behind the promise; its late rejection is not reported as unhandled.
 */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
    promise.then(
      (value) => {
        signal.removeEventListener('abort', onAbort);
        resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener('abort', onAbort);
        reject(error);
      },
    );
  });
}
