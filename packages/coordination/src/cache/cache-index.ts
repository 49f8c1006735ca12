// What is in a scope of the cache, how large, when last used, and how often it helped. Apart from
// the results themselves, so that looking through it is cheap.

import type { Clock } from '@starloom/core';
import type { CoordinationStore, Snapshot, Write } from '../coordination-store.ts';
import { partitionOf } from '../partitions.ts';
import { type Amount, amountOf, firstThatCover, type Measured } from '../quota/meter.ts';
import {
  type CacheInfo,
  cacheInfoSchema,
  countKey,
  entryKey,
  infoKey,
  markKey,
  usedKey,
} from './cache-entry.ts';

const COUNTS = ['hits', 'misses', 'puts', 'invalidated', 'evicted'] as const;
export type CacheCount = (typeof COUNTS)[number];

export interface IndexedEntry extends CacheInfo {
  readonly key: string;
  readonly usedAt: number;
}

export interface CacheContents {
  readonly entries: readonly IndexedEntry[];
  /** Labels that were invalidated. */
  readonly marks: readonly string[];
}

const INFO_PREFIX = infoKey('');
const MARK_PREFIX = markKey('');

export class CacheIndex {
  readonly #store: CoordinationStore;
  readonly #clock: Clock;

  constructor(store: CoordinationStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async add(scope: string, key: string, info: CacheInfo, ttlMs: number): Promise<void> {
    await this.#commit(scope, [
      { kind: 'put', key: infoKey(key), value: info, ttlMs },
      { kind: 'put', key: usedKey(key), value: this.#clock.now(), ttlMs },
      ...counting('puts', 1),
    ]);
  }

  async noteHit(scope: string, key: string, ttlMs: number): Promise<void> {
    await this.#commit(scope, [
      { kind: 'put', key: usedKey(key), value: this.#clock.now(), ttlMs },
      ...counting('hits', 1),
    ]);
  }

  async noteMiss(scope: string): Promise<void> {
    await this.#commit(scope, counting('misses', 1));
  }

  async addMarks(scope: string, labels: readonly string[], ttlMs: number): Promise<void> {
    const keys = labels.map(markKey);
    await this.#commit(
      scope,
      keys.map((key) => ({ kind: 'put', key, value: true, ttlMs })),
    );
  }

  async removeMarks(scope: string, labels: readonly string[]): Promise<void> {
    const keys = labels.map(markKey);
    await this.#commit(
      scope,
      keys.map((key) => ({ kind: 'delete', key })),
    );
  }

  async contents(scope: string): Promise<CacheContents> {
    const snapshot = await this.#store.read(partitionOf.cacheIndex(scope));
    const names = [...snapshot.entries.keys()].filter((name) => name.startsWith(MARK_PREFIX));
    const marks = names.map((name) => name.slice(MARK_PREFIX.length));
    return { entries: entriesIn(snapshot), marks };
  }

  /** Forgets entries and their results. */
  async remove(scope: string, keys: readonly string[], why: CacheCount): Promise<void> {
    if (keys.length === 0) return;
    const deletes = keys.map((key) => ({ kind: 'delete', key: entryKey(key) }) as const);
    await this.#store.commit(partitionOf.cache(scope), { writes: deletes });
    await this.#commit(scope, [
      ...keys.flatMap((key) => [
        { kind: 'delete', key: infoKey(key) } as const,
        { kind: 'delete', key: usedKey(key) } as const,
      ]),
      ...counting(why, keys.length),
    ]);
  }

  /** Counts the entries; room is made by forgetting those not used for longest. */
  async measure(scope: string): Promise<Measured> {
    const { entries } = await this.contents(scope);
    const makeRoom = async (wanted: Amount) => {
      const leastUsed = entries.toSorted((a, b) => a.usedAt - b.usedAt);
      const evicted = firstThatCover(leastUsed, wanted);
      const keys = evicted.map(({ key }) => key);
      await this.remove(scope, keys, 'evicted');
      return amountOf(evicted);
    };
    return { now: amountOf(entries), makeRoom };
  }

  async stats(scope: string) {
    const snapshot = await this.#store.read(partitionOf.cacheIndex(scope));
    const entries = entriesIn(snapshot);
    const count = (name: CacheCount) => Number(snapshot.entries.get(countKey(name))?.value ?? 0);
    const [hits, misses] = [count('hits'), count('misses')];
    return {
      ...amountOf(entries),
      hits,
      misses,
      hit_rate: hits + misses === 0 ? 0 : hits / (hits + misses),
      puts: count('puts'),
      invalidated: count('invalidated'),
      evicted: count('evicted'),
    };
  }

  async reset(scope: string): Promise<void> {
    const { entries } = await this.#store.read(partitionOf.cacheIndex(scope));
    const counts = [...entries.keys()].filter((key) => key.startsWith(countKey('')));
    await this.#commit(
      scope,
      counts.map((key) => ({ kind: 'delete', key })),
    );
  }

  async #commit(scope: string, writes: readonly Write[]): Promise<void> {
    await this.#store.commit(partitionOf.cacheIndex(scope), { writes });
  }
}

function entriesIn({ entries }: Snapshot): readonly IndexedEntry[] {
  return [...entries].flatMap(([name, { value }]) => {
    if (!name.startsWith(INFO_PREFIX)) return [];
    const key = name.slice(INFO_PREFIX.length);
    const info = cacheInfoSchema.parse(value);
    return [{ ...info, key, usedAt: Number(entries.get(usedKey(key))?.value ?? info.at) }];
  });
}

function counting(name: CacheCount, by: number): readonly Write[] {
  return [{ kind: 'increment', key: countKey(name), by }];
}

interface Marks {
  /** When one of the labels was last invalidated; 0 when none was. */
  readonly at: number;
  /** A write on condition of these takes effect before the next invalidation, or not at all. */
  readonly ifKeys: ReadonlyMap<string, number>;
}

/**
 * What was invalidated when, in versions of the cache: those are the store's, so gateways whose
 * clocks differ agree on it. The index knows every mark. When there are more than a scope may have,
 * one mark on everything takes their place; it makes more void than was asked for, never less.
 */
export class Invalidations {
  readonly #store: CoordinationStore;
  readonly #index: CacheIndex;
  readonly #allowed: number;

  constructor(store: CoordinationStore, index: CacheIndex, allowed: number) {
    this.#store = store;
    this.#index = index;
    this.#allowed = allowed;
  }

  async marksOf(partition: string, labels: readonly string[]): Promise<Marks> {
    const keys = [...labels, EVERYTHING].map(markKey);
    const { entries } = await this.#store.read(partition, keys);
    const ifKeys = new Map(keys.map((key) => [key, entries.get(key)?.version ?? 0]));
    return { at: Math.max(...ifKeys.values()), ifKeys };
  }

  /** The number of results that were there. */
  async invalidate(scope: string, labels: readonly string[]): Promise<number> {
    const partition = partitionOf.cache(scope);
    await this.#index.addMarks(scope, labels, MARK_MS);
    await this.#store.commit(partition, { writes: labels.map(marking) });
    const { entries, marks } = await this.#index.contents(scope);
    const isTooMany = marks.length > this.#allowed;
    if (isTooMany) {
      const deletes = marks.map((label) => ({ kind: 'delete', key: markKey(label) }) as const);
      await this.#store.commit(partition, { writes: [marking(EVERYTHING), ...deletes] });
      await this.#index.removeMarks(scope, marks);
    }
    const isHit = (entry: { readonly labels: readonly string[] }) =>
      isTooMany || entry.labels.some((label) => labels.includes(label));
    const keys = entries.filter(isHit).map(({ key }) => key);
    await this.#index.remove(scope, keys, 'invalidated');
    return keys.length;
  }
}

/** Longer than any entry may live, so that no entry outlives the mark that made it invalid. */
const MARK_MS = 48 * 3_600_000;

/** Not a label of any entry: those begin with what they are about. */
const EVERYTHING = 'everything';

function marking(label: string) {
  return { kind: 'put', key: markKey(label), value: true, ttlMs: MARK_MS } as const;
}
