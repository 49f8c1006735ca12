// How many calls may begin under one name (a principal, or an agent) in a given time. A token bucket,
// kept as one number per name: the time at which the bucket would be full again. A name that was not
// used lately has a full bucket, so it can be forgotten.

import { type Clock, FabricError, RecentMap } from '@starloom/core';

export interface Rate {
  readonly calls: number;
  readonly seconds: number;
  /** Calls that may begin at once after a pause; `calls` by default. */
  readonly burst?: number | undefined;
}

export interface CallRatesOptions {
  /** The key of the configuration, for the message. */
  readonly key: string;
  readonly rate: Rate | undefined;
  /** For names that have a rate of their own. */
  readonly own: ReadonlyMap<string, Rate>;
  readonly clock: Clock;
  readonly onLimited: (key: string) => void;
}

interface Bucket {
  readonly rate: Rate;
  readonly callMs: number;
  readonly depthMs: number;
  /** Monotonic: when the bucket is full again. */
  fullAt: number;
}

/** Names that are remembered at least, and half of those that are remembered at most. */
const NAMES = 10_000;

export class CallRates {
  readonly #options: CallRatesOptions;
  readonly #isOff: boolean;
  readonly #buckets = new RecentMap<Bucket>(NAMES);

  constructor(options: CallRatesOptions) {
    this.#options = options;
    this.#isOff = options.rate === undefined && options.own.size === 0;
  }

  /** Counts calls that begin, or throws RATE_LIMITED. */
  take(name: string, calls = 1): void {
    if (this.#isOff) return;
    const bucket = this.#bucketOf(name);
    if (!bucket) return;
    const now = this.#options.clock.monotonic();
    const from = Math.max(bucket.fullAt, now);
    const askedMs = bucket.callMs * calls;
    // More at once than the bucket holds are taken when it is full.
    const waitMs = from + Math.min(askedMs, bucket.depthMs) - now - bucket.depthMs;
    if (waitMs > ROUNDING_MS) throw this.#limited(name, bucket, waitMs);
    bucket.fullAt = from + askedMs;
  }

  /** A call that was counted was none. */
  giveBack(name: string): void {
    const bucket = this.#isOff ? undefined : this.#buckets.get(name);
    if (bucket) bucket.fullAt -= bucket.callMs;
  }

  #bucketOf(name: string): Bucket | undefined {
    const known = this.#buckets.get(name);
    if (known) return known;
    const rate = this.#options.own.get(name) ?? this.#options.rate;
    if (!rate) return undefined;
    const callMs = (rate.seconds * 1_000) / rate.calls;
    const bucket = { rate, callMs, depthMs: callMs * (rate.burst ?? rate.calls), fullAt: 0 };
    this.#buckets.set(name, bucket);
    return bucket;
  }

  #limited(name: string, { rate: { calls, seconds } }: Bucket, waitMs: number): FabricError {
    const { key, onLimited } = this.#options;
    onLimited(key);
    const isAgent = key === 'rate_per_agent';
    const who = isAgent ? `Agent "${name}" is called` : 'This caller calls';
    return new FabricError(
      'RATE_LIMITED',
      `${who} more often than ${calls} times in ${seconds} s`,
      {
        details: {
          reason: key,
          limit: calls,
          window_s: seconds,
          retry_after_ms: Math.ceil(waitMs),
          sent: false,
          ...(isAgent && { agent_id: name }),
          fix: `call again after retry_after_ms, or raise limits.${key}`,
        },
      },
    );
  }
}

/** Times are sums of fractions of a millisecond. */
const ROUNDING_MS = 1e-6;
