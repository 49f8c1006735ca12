// Rates and costs that several gateways count together, about: each decides by what it knows, and tells
// the store once a second what it counted. No call waits for that. Within that second each gateway may
// let through what a limit allows by itself.

import { type Clock, FabricError, type Json, type Log, sha256Hex, toFields } from '@starloom/core';
import { type RealmStore, StoreReach } from '@starloom/identity';

/** What was counted under one name here, and is not in the store yet. */
export interface Uncounted {
  /** Of the entry in the store. */
  readonly key: string;
  /** The entry with what was counted here. */
  addTo(stored: Json | undefined): { readonly value: Json; readonly ttlMs: number };
  /** The store has it as `addTo` said last. */
  done(): void;
}

export interface CountSource {
  /** What was counted since this was asked last. */
  takeUncounted(): readonly Uncounted[];
}

interface SharedCountsOptions {
  readonly realm: RealmStore;
  readonly sources: readonly CountSource[];
  readonly log: Log;
}

const COUNTS = 'counts';
const SHARE_MS = 1_000;
const KEYS_AT_ONCE = 500;
/** Names that wait for a store that is away. */
const MAX_WAITING = 20_000;
/** Other gateways may be faster so often; then it is added the next time. */
const ATTEMPTS = 5;

/** Names that were counted, or given back, since the store was last told. */
export class NotedCounts<Entry extends { uncounted: number }> implements CountSource {
  readonly #toStore: (name: string, entry: Entry) => Uncounted;
  #entries = new Map<string, Entry>();

  constructor(toStore: (name: string, entry: Entry) => Uncounted) {
    this.#toStore = toStore;
  }

  add(name: string, entry: Entry, count: number): void {
    entry.uncounted += count;
    if (this.#entries.get(name) !== entry) this.#entries.set(name, entry);
  }

  takeUncounted(): readonly Uncounted[] {
    const taken = [...this.#entries].map(([name, entry]) => this.#toStore(name, entry));
    this.#entries = new Map();
    return taken;
  }
}

export class SharedCounts {
  readonly #options: SharedCountsOptions;
  readonly #waiting = new Map<string, Uncounted>();
  readonly #timer: NodeJS.Timeout;
  readonly #reach: StoreReach;
  #sharing: Promise<void> | undefined;

  constructor(options: SharedCountsOptions) {
    this.#options = options;
    this.#reach = new StoreReach(options.log, {
      away: 'rates and costs are counted by this gateway alone',
      back: 'rates and costs are counted with other gateways again',
    });
    this.#timer = setInterval(() => void this.share(), SHARE_MS).unref();
  }

  /** Adds what was counted here, and learns what others counted under the same names. */
  share(): Promise<void> {
    this.#sharing ??= this.#share().finally(() => {
      this.#sharing = undefined;
    });
    return this.#sharing;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sharing;
    await this.share();
  }

  async #share(): Promise<void> {
    for (const source of this.#options.sources) {
      for (const one of source.takeUncounted()) this.#wait(one);
    }
    if (this.#waiting.size === 0) return;
    const all = [...this.#waiting.values()];
    try {
      for (let at = 0; at < all.length; at += KEYS_AT_ONCE) {
        await this.#add(all.slice(at, at + KEYS_AT_ONCE));
      }
      this.#reach.reached();
    } catch (error) {
      this.#reach.failed(FabricError.from(error));
    }
  }

  #wait(one: Uncounted): void {
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size >= MAX_WAITING && oldest !== undefined) this.#waiting.delete(oldest);
    this.#waiting.set(one.key, one);
  }

  async #add(counts: readonly Uncounted[]): Promise<void> {
    const { realm } = this.#options;
    const keys = counts.map(({ key }) => key);
    let { entries } = await realm.read(COUNTS, keys);
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const writes = counts.map((one) => {
        return { kind: 'put', key: one.key, ...one.addTo(entries.get(one.key)?.value) } as const;
      });
      const ifKeys = new Map(keys.map((key) => [key, entries.get(key)?.version ?? 0]));
      const result = await realm.commit(COUNTS, { writes, ifKeys });
      if (result.ok) {
        for (const one of counts) {
          one.done();
          this.#waiting.delete(one.key);
        }
        return;
      }
      entries = result.current?.entries ?? new Map();
    }
  }
}

export interface Rate {
  readonly calls: number;
  readonly seconds: number;
  /** Calls that may begin at once after a pause; `calls` by default. */
  readonly burst?: number | undefined;
}

export interface Bucket {
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

export interface Account {
  readonly perDay: number;
  readonly day: number;
  spent: number;
  /** The part of `spent` that the store does not have yet. */
  uncounted: number;
}

export const DAY_MS = 24 * 60 * 60 * 1000;
/** A count that was not changed for so long begins again. */
const KEPT_MS = 3_600_000;

/**
 * In the store: how many calls all gateways counted, so that their clocks need not agree. Only what
 * a gateway learns first, when the bucket is full again, is a time of the day.
 */
export function callsToStore(key: string, name: string, bucket: Bucket, clock: Clock): Uncounted {
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

function toShared(stored: Json | undefined): { readonly calls: number; readonly full_at: number } {
  const { calls, full_at } = toFields(stored);
  const isRight = typeof calls === 'number' && typeof full_at === 'number';
  return isRight ? { calls, full_at } : { calls: 0, full_at: 0 };
}

/** In the store: what all gateways spent for the principal on this day. */
export function costsToStore(principalId: string, account: Account): Uncounted {
  let added = { uncounted: 0, spent: 0 };
  return {
    key: `cost_per_principal:${account.day}:${sha256Hex(principalId)}`,
    addTo: (stored) => {
      const { uncounted } = account;
      added = { uncounted, spent: Math.max(0, spentOf(stored) + uncounted) };
      return { value: { spent: added.spent }, ttlMs: 2 * DAY_MS };
    },
    done: () => {
      account.uncounted -= added.uncounted;
      account.spent = added.spent + account.uncounted;
    },
  };
}

function spentOf(stored: Json | undefined): number {
  const { spent } = toFields(stored);
  return typeof spent === 'number' ? spent : 0;
}
