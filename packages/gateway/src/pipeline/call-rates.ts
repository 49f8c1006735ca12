// How many calls may begin under one name (a principal, or an agent) in a given time. A token bucket,
// kept as one number per name: the time at which the bucket would be full again. A name that was not
// used lately has a full bucket, so it can be forgotten.

import { type Clock, FabricError, type Json, RecentMap, sha256Hex, toFields } from '@starloom/core';
import type { CountSource, Uncounted } from './shared-counts.ts';

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
  /** Whether `takeUncounted` is asked. */
  readonly isShared?: boolean;
}

interface Bucket {
  readonly rate: Rate;
  readonly callMs: number;
  readonly depthMs: number;
  /** Monotonic: when the bucket is full again. */
  fullAt: number;
  /** Calls that are not in the store yet. */
  uncounted: number;
  /** The count of all gateways when the store was asked last; then the bucket began to fill here. */
  known: number | undefined;
  knownFrom: number;
}

/** Names that are remembered at least, and half of those that are remembered at most. */
const NAMES = 10_000;

export class CallRates implements CountSource {
  readonly #options: CallRatesOptions;
  readonly #isOff: boolean;
  readonly #buckets = new RecentMap<Bucket>(NAMES);
  /** Names whose calls are not in the store yet. */
  #uncounted = new Map<string, Bucket>();

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
    if (this.#options.isShared) this.#note(name, bucket, calls);
  }

  /** A call that was counted was none. */
  giveBack(name: string): void {
    const bucket = this.#isOff ? undefined : this.#buckets.get(name);
    if (!bucket) return;
    bucket.fullAt -= bucket.callMs;
    if (this.#options.isShared) this.#note(name, bucket, -1);
  }

  takeUncounted(): readonly Uncounted[] {
    const taken = [...this.#uncounted].map(([name, bucket]) => this.#toUncounted(name, bucket));
    this.#uncounted = new Map();
    return taken;
  }

  #note(name: string, bucket: Bucket, calls: number): void {
    bucket.uncounted += calls;
    if (!this.#uncounted.has(name)) this.#uncounted.set(name, bucket);
  }

  /**
   * In the store: how many calls all gateways counted, so that their clocks need not agree. Only what
   * a gateway learns first, when the bucket is full again, is a time of the day.
   */
  #toUncounted(name: string, bucket: Bucket): Uncounted {
    const { key, clock } = this.#options;
    let added = { own: 0, calls: 0, fullAt: 0 };
    return {
      key: `${key}:${sha256Hex(name)}`,
      addTo: (stored) => {
        const now = clock.monotonic();
        const { calls: before, full_at } = toShared(stored);
        const own = bucket.uncounted;
        const others = Math.max(0, before - (bucket.known ?? before));
        const firstMs = Math.min(bucket.depthMs, Math.max(0, full_at - clock.now()));
        const from = bucket.known === undefined ? now + firstMs : bucket.knownFrom;
        const isNews = others > 0 || (bucket.known === undefined && firstMs > 0);
        const together = isNews ? from + (others + own) * bucket.callMs : 0;
        added = { own, calls: before + own, fullAt: Math.max(bucket.fullAt, together) };
        const fullMs = Math.max(0, Math.ceil(added.fullAt - now));
        const value = { calls: added.calls, full_at: clock.now() + fullMs };
        return { value, ttlMs: KEPT_MS + fullMs };
      },
      done: () => {
        const { own, calls, fullAt } = added;
        bucket.uncounted -= own;
        bucket.fullAt = Math.max(bucket.fullAt, fullAt + bucket.uncounted * bucket.callMs);
        bucket.known = calls;
        bucket.knownFrom = Math.max(fullAt, clock.monotonic());
      },
    };
  }

  #bucketOf(name: string): Bucket | undefined {
    const known = this.#buckets.get(name);
    if (known) return known;
    const rate = this.#options.own.get(name) ?? this.#options.rate;
    if (!rate) return undefined;
    const callMs = (rate.seconds * 1_000) / rate.calls;
    const bucket = { rate, callMs, depthMs: callMs * (rate.burst ?? rate.calls), ...UNUSED };
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

const UNUSED = { fullAt: 0, uncounted: 0, known: undefined, knownFrom: 0 };
/** A count that was not changed for so long begins again. */
const KEPT_MS = 3_600_000;

function toShared(stored: Json | undefined): { readonly calls: number; readonly full_at: number } {
  const { calls, full_at } = toFields(stored);
  const isRight = typeof calls === 'number' && typeof full_at === 'number';
  return isRight ? { calls, full_at } : { calls: 0, full_at: 0 };
}

/** Times are sums of fractions of a millisecond. */
const ROUNDING_MS = 1e-6;
