// What is in a scope of the cache, how large, when last used, and how often it helped. Apart from
// the results themselves, so that looking through it is cheap.

import type { Clock, CoordinationStore, Snapshot, Write } from '@starloom/core';
import { partitionOf } from '../partitions.ts';
import type { Amount } from '../quota/meter.ts';
import {
  type CacheInfo,
  cacheInfoSchema,
  countKey,
  entryKey,
  infoKey,
  usedKey,
} from './cache-entry.ts';

const COUNTS = ['hits', 'misses', 'puts', 'invalidated', 'evicted'] as const;
export type CacheCount = (typeof COUNTS)[number];

export interface IndexedEntry extends CacheInfo {
  readonly key: string;
  readonly usedAt: number;
}

const INFO_PREFIX = infoKey('');
const TOOL_COUNT_PREFIX = countKey('tool/');

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

  async noteHit(scope: string, key: string, tool: string, ttlMs: number): Promise<void> {
    await this.#commit(scope, [
      { kind: 'put', key: usedKey(key), value: this.#clock.now(), ttlMs },
      { kind: 'increment', key: `${TOOL_COUNT_PREFIX}${tool}`, by: 1 },
      ...counting('hits', 1),
    ]);
  }

  async noteMiss(scope: string): Promise<void> {
    await this.#commit(scope, counting('misses', 1));
  }

  async entries(scope: string): Promise<readonly IndexedEntry[]> {
    return entriesIn(await this.#store.read(partitionOf.cacheIndex(scope)));
  }

  async amount(scope: string): Promise<Amount> {
    const entries = await this.entries(scope);
    return { entries: entries.length, bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0) };
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

  /** Forgets what was not used for longest until this much is free. */
  async makeRoom(scope: string, excess: Amount): Promise<void> {
    const entries = [...(await this.entries(scope))].sort((a, b) => a.usedAt - b.usedAt);
    const keys: string[] = [];
    let bytes = 0;
    for (const entry of entries) {
      if (keys.length >= excess.entries && bytes >= excess.bytes) break;
      keys.push(entry.key);
      bytes += entry.bytes;
    }
    await this.remove(scope, keys, 'evicted');
  }

  async stats(scope: string) {
    const snapshot = await this.#store.read(partitionOf.cacheIndex(scope));
    const entries = entriesIn(snapshot);
    const count = (name: CacheCount) => Number(snapshot.entries.get(countKey(name))?.value ?? 0);
    const [hits, misses] = [count('hits'), count('misses')];
    const tools = [...snapshot.entries]
      .filter(([key]) => key.startsWith(TOOL_COUNT_PREFIX))
      .map(([key, { value }]) => [key.slice(TOOL_COUNT_PREFIX.length), Number(value)]);
    return {
      entries: entries.length,
      bytes: entries.reduce((sum, entry) => sum + entry.bytes, 0),
      hits,
      misses,
      hit_rate: hits + misses === 0 ? 0 : hits / (hits + misses),
      puts: count('puts'),
      invalidated: count('invalidated'),
      evicted: count('evicted'),
      hits_by_tool: Object.fromEntries(tools) as Record<string, number>,
    };
  }

  async reset(scope: string): Promise<void> {
    const { entries } = await this.#store.read(partitionOf.cacheIndex(scope));
    const counts = [...entries.keys()].filter((key) => key.startsWith(countKey('')));
    const writes = counts.map((key) => ({ kind: 'delete', key }) as const);
    await this.#commit(scope, writes);
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
