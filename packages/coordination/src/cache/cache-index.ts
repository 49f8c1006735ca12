// What is in a scope of the cache, how large, when last used, and how often it helped. Apart from
// the results themselves, so that looking through it is cheap.

import type { Clock, CoordinationStore, Snapshot, Write } from '@starloom/core';
import { partitionOf } from '../partitions.ts';
import { type Amount, amountOf, firstThatCover } from '../quota/amount.ts';
import type { Measured } from '../quota/meter.ts';
import { RecentMap } from '../support/recent-map.ts';
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
const TOOL_COUNT_PREFIX = countKey('tool/');

/** How long the hits of a tool are remembered after the last, and how often that is renewed. */
const TOOL_COUNT_MS = 7 * 86_400_000;
const RENEW_MS = 3_600_000;
const REMEMBERED = 10_000;

export class CacheIndex {
  readonly #store: CoordinationStore;
  readonly #clock: Clock;
  readonly #renewedAt = new RecentMap<number>(REMEMBERED);

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
    const now = this.#clock.now();
    const toolKey = `${TOOL_COUNT_PREFIX}${tool}`;
    const writes: readonly Write[] = [
      { kind: 'put', key: usedKey(key), value: now, ttlMs },
      ...counting('hits', 1),
    ];
    const renewal = `${scope}\n${tool}`;
    const renewedAt = this.#renewedAt.get(renewal);
    if (renewedAt !== undefined && now - renewedAt < RENEW_MS) {
      await this.#commit(scope, [...writes, { kind: 'increment', key: toolKey, by: 1 }]);
      return;
    }
    await this.#countAnew(scope, toolKey, writes);
    this.#renewedAt.set(renewal, now);
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

  /** What there is; room is made by forgetting what was not used for longest. */
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
    const tools = [...snapshot.entries]
      .filter(([key]) => key.startsWith(TOOL_COUNT_PREFIX))
      .map(([key, { value }]) => [key.slice(TOOL_COUNT_PREFIX.length), Number(value)] as const)
      .filter(([, hitsOfTool]) => hitsOfTool > 0);
    return {
      ...amountOf(entries),
      hits,
      misses,
      hit_rate: hits + misses === 0 ? 0 : hits / (hits + misses),
      puts: count('puts'),
      invalidated: count('invalidated'),
      evicted: count('evicted'),
      hits_by_tool: Object.fromEntries(tools),
    };
  }

  async reset(scope: string): Promise<void> {
    const { entries } = await this.#store.read(partitionOf.cacheIndex(scope));
    const counts = [...entries.keys()].filter((key) => key.startsWith(countKey('')));
    await this.#commit(scope, counts.map(resetting));
  }

  /** An increment keeps the time to live of a count; this begins it again. */
  async #countAnew(scope: string, key: string, others: readonly Write[]): Promise<void> {
    const partition = partitionOf.cacheIndex(scope);
    for (;;) {
      const entry = (await this.#store.read(partition, [key])).entries.get(key);
      const value = Number(entry?.value ?? 0) + 1;
      const { ok } = await this.#store.commit(partition, {
        writes: [...others, { kind: 'put', key, value, ttlMs: TOOL_COUNT_MS }],
        ifKeys: new Map([[key, entry?.version ?? 0]]),
      });
      if (ok) return;
    }
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

/** The count of a tool stays as 0, since one that an increment brings back would live for ever. */
function resetting(key: string): Write {
  if (!key.startsWith(TOOL_COUNT_PREFIX)) return { kind: 'delete', key };
  return { kind: 'put', key, value: 0, ttlMs: TOOL_COUNT_MS };
}
