import { type Clock, systemClock } from './clock.ts';

/** A wait grows no further after so many doublings, whatever `longestMs` allows. */
const MAX_DOUBLINGS = 16;

interface BackoffRules {
  readonly firstMs: number;
  readonly longestMs?: number;
}

interface BackoffStep extends BackoffRules {
  /** Failed tries so far; the wait after the first one is `firstMs`. */
  readonly tries: number;
  /** A random factor that spreads clients apart; the wait stays within `longestMs`. */
  readonly jitter?: number;
}

export function backoffMs({
  firstMs,
  longestMs = Number.POSITIVE_INFINITY,
  tries,
  jitter = 1,
}: BackoffStep): number {
  const doublings = Math.min(MAX_DOUBLINGS, Math.max(0, tries - 1));
  return Math.min(longestMs, Math.min(longestMs, firstMs * 2 ** doublings) * jitter);
}

interface BackoffOptions extends BackoffRules {
  /** So many failures in a row cost no wait. */
  readonly freeTries?: number;
}

/** Counts failures in a row, and says when the next try may be. */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #clock: Clock;
  #failures = 0;
  /** On the monotonic clock. */
  #notBefore = 0;

  constructor(options: BackoffOptions, clock: Clock = systemClock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** One more failure; how long to wait before the next try. */
  failed(): number {
    const { freeTries = 0, ...rules } = this.#options;
    this.#failures += 1;
    const tries = this.#failures - freeTries;
    const waitMs = tries > 0 ? backoffMs({ ...rules, tries }) : 0;
    this.#notBefore = this.#clock.monotonic() + waitMs;
    return waitMs;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#notBefore = 0;
  }

  /** Until the next try may be; 0 when it may be now. */
  remainingMs(): number {
    return Math.max(0, this.#notBefore - this.#clock.monotonic());
  }
}
