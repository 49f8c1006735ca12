// Rates and costs that several gateways count together, about: each decides by what it knows, and tells
// the store once a second what it counted. No call waits for that. Within that second each gateway may
// let through what a limit allows by itself.

import { FabricError, type Json, type Log } from '@starloom/core';
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
