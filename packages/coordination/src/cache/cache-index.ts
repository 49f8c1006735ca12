// What is in a scope of the cache, how large, when last used, and how often it helped. Apart from
// the results themselves, so that reading all of it is cheap. It also says what was invalidated when,
// in versions of the cache: those are the store's, so gateways whose clocks differ agree on it.

import { createHash } from 'node:crypto';
import type { Clock, Json } from '@starloom/core';
import { z } from 'zod';
import type { Caller } from '../agents/caller.ts';
import type { CoordinationStore, Snapshot, Write } from '../coordination-store.ts';
import { digestibleJson, jsonSchema } from '../json/json.ts';
import { digest, partitionOf } from '../partitions.ts';
import { type Amount, amountOf, firstThatCover, type Measured } from '../quota/meter.ts';
import { countsIn, countWrite, resetCounts } from '../support/counts.ts';

/** A result; it is valid while none of its labels was invalidated after it was stored. */
export const cacheEntrySchema = z.object({
  tool: z.string(),
  tool_version: z.string().nullable(),
  result: jsonSchema,
  labels: z.array(z.string()),
  agent_id: z.string(),
  at: z.number(),
});
export type CacheEntry = z.infer<typeof cacheEntrySchema>;

const cacheInfoSchema = z.object({
  tool: z.string(),
  labels: z.array(z.string()),
  bytes: z.number(),
  at: z.number(),
});
type CacheInfo = z.infer<typeof cacheInfoSchema>;

interface IndexedEntry extends CacheInfo {
  readonly key: string;
  readonly usedAt: number;
}

export interface CacheName {
  readonly tool: string;
  readonly params: Json;
  readonly tool_version?: string | undefined;
}

interface Marks {
  /** When one of the labels was last invalidated; 0 when none was. */
  readonly at: number;
  /** A write on condition of these takes effect before the next invalidation, or not at all. */
  readonly ifKeys: ReadonlyMap<string, number>;
}

/** Longer than any entry may live, so that no entry outlives the mark that made it invalid. */
const MARK_MS = 48 * 3_600_000;
/** Not a label of any entry: those begin with what they are about. */
const EVERYTHING = 'everything';

export class CacheIndex {
  readonly #store: CoordinationStore;
  readonly #clock: Clock;
  readonly #maxMarks: number;

  constructor(store: CoordinationStore, clock: Clock, maxMarks: number) {
    this.#store = store;
    this.#clock = clock;
    this.#maxMarks = maxMarks;
  }

  async add(scope: string, key: string, info: CacheInfo, ttlMs: number): Promise<void> {
    await this.#commit(scope, [
      { kind: 'put', key: infoKey(key), value: info, ttlMs },
      { kind: 'put', key: usedKey(key), value: this.#clock.now(), ttlMs },
      countWrite('puts'),
    ]);
  }

  async noteHit(scope: string, key: string, ttlMs: number): Promise<void> {
    const used = { kind: 'put', key: usedKey(key), value: this.#clock.now(), ttlMs } as const;
    await this.#commit(scope, [used, countWrite('hits')]);
  }

  async noteMiss(scope: string): Promise<void> {
    await this.#commit(scope, [countWrite('misses')]);
  }

  async marksOf(partition: string, labels: readonly string[]): Promise<Marks> {
    const keys = [...labels, EVERYTHING].map(markKey);
    const { entries } = await this.#store.read(partition, keys);
    const ifKeys = new Map(keys.map((key) => [key, entries.get(key)?.version ?? 0]));
    return { at: Math.max(...ifKeys.values()), ifKeys };
  }

  /**
   * The number of results that were there. When there are more marks than a scope may have, one mark
   * on everything takes their place; it makes more void than was asked for, never less.
   */
  async invalidate(scope: string, labels: readonly string[]): Promise<number> {
    const partition = partitionOf.cache(scope);
    const marks = labels.map(toMark);
    await this.#commit(scope, marks);
    await this.#store.commit(partition, { writes: marks });
    const snapshot = await this.#store.read(partitionOf.cacheIndex(scope));
    const marked = [...snapshot.entries.keys()].filter((key) => key.startsWith(markKey('')));
    const isTooMany = marked.length > this.#maxMarks;
    if (isTooMany) {
      const deletes = marked.map((key) => ({ kind: 'delete', key }) as const);
      await this.#store.commit(partition, { writes: [toMark(EVERYTHING), ...deletes] });
      await this.#commit(scope, deletes);
    }
    const isHit = (entry: IndexedEntry) =>
      isTooMany || entry.labels.some((label) => labels.includes(label));
    const keys = entriesIn(snapshot)
      .filter(isHit)
      .map(({ key }) => key);
    await this.#remove(scope, keys, 'invalidated');
    return keys.length;
  }

  /** Counts the entries; room is made by forgetting those not used for longest. */
  async measure(scope: string): Promise<Measured> {
    const entries = entriesIn(await this.#store.read(partitionOf.cacheIndex(scope)));
    const makeRoom = async (wanted: Amount) => {
      const leastUsed = entries.toSorted((a, b) => a.usedAt - b.usedAt);
      const evicted = firstThatCover(leastUsed, wanted);
      const keys = evicted.map(({ key }) => key);
      await this.#remove(scope, keys, 'evicted');
      return amountOf(evicted);
    };
    return { now: amountOf(entries), makeRoom };
  }

  async stats(scope: string) {
    const snapshot = await this.#store.read(partitionOf.cacheIndex(scope));
    const counts = countsIn(snapshot, ['puts', 'invalidated', 'evicted']);
    return { ...amountOf(entriesIn(snapshot)), ...counts };
  }

  async reset(scope: string): Promise<void> {
    await resetCounts(this.#store, partitionOf.cacheIndex(scope));
  }

  async #remove(scope: string, keys: readonly string[], why: string): Promise<void> {
    if (keys.length === 0) return;
    const toDeletes = (names: readonly string[]) =>
      names.map((key) => ({ kind: 'delete', key }) as const);
    await this.#store.commit(partitionOf.cache(scope), { writes: toDeletes(keys.map(entryKey)) });
    const known = keys.flatMap((key) => [infoKey(key), usedKey(key)]);
    await this.#commit(scope, [...toDeletes(known), countWrite(why, keys.length)]);
  }

  async #commit(scope: string, writes: readonly Write[]): Promise<void> {
    await this.#store.commit(partitionOf.cacheIndex(scope), { writes });
  }
}

function entriesIn({ entries }: Snapshot): readonly IndexedEntry[] {
  const prefix = infoKey('');
  return [...entries].flatMap(([name, { value }]) => {
    if (!name.startsWith(prefix)) return [];
    const key = name.slice(prefix.length);
    const info = cacheInfoSchema.parse(value);
    return [{ ...info, key, usedAt: Number(entries.get(usedKey(key))?.value ?? info.at) }];
  });
}

function toMark(label: string) {
  return { kind: 'put', key: markKey(label), value: true, ttlMs: MARK_MS } as const;
}

/** Equal for equal parameters, for every caller and in any process. */
export function cacheKey({ tool, params, tool_version = '' }: CacheName): string {
  const text = digestibleJson([tool, tool_version, params]);
  return createHash('sha256').update(text).digest('hex');
}

export const entryLabel = (key: string) => `entry:${key}`;
export const toolLabel = (tool: string) => `tool:${tool}`;

/** Labels that a caller names, of entries or of what to invalidate. */
export function namedLabels(named: {
  readonly tags: readonly string[];
  readonly dependencies: readonly string[];
}): readonly string[] {
  const dependencies = named.dependencies.map((dependency) => `dependency:${dependency}`);
  return [...named.tags.map((tag) => `tag:${tag}`), ...dependencies];
}

export const markKey = (label: string) => `invalidated/${label}`;
/** The claim on a result; the version of the entry is when the computation began. */
export const claimKey = (key: string) => `claim/${key}`;
export const entryKey = (key: string) => `entry/${key}`;
const infoKey = (key: string) => `info/${key}`;
const usedKey = (key: string) => `used/${key}`;

/** All agents of a principal, one agent, or the members of a session share results. */
export const CACHE_SCOPES = ['principal', 'agent', 'session'] as const;
export type CacheScope = (typeof CACHE_SCOPES)[number];

export function principalCacheScope(principalId: string): string {
  return `principal-${digest(principalId)}`;
}

/** Of the principal's own agent: an id that is not bound yet may be another's elsewhere. */
export function agentCacheScope({ principalId, agentId }: Caller): string {
  return `agent-${digest(`${principalId}\n${agentId}`)}`;
}

export function sessionCacheScope(sessionId: string): string {
  return `session-${sessionId}`;
}

export function partitionsOfScope(scope: string): string[] {
  return [partitionOf.cache(scope), partitionOf.cacheIndex(scope)];
}

/** All that hangs on a session, beside its own partition. */
export function partitionsBeside(sessionId: string): string[] {
  const { history, chunks, chunkBodies } = partitionOf;
  const own = [history(sessionId), chunks(sessionId), chunkBodies(sessionId)];
  return [...own, ...partitionsOfScope(sessionCacheScope(sessionId))];
}
