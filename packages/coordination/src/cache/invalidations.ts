// What was invalidated when, in versions of the cache: those are the store's, so gateways whose
// clocks differ agree on it. The index knows every mark. When there are more than a scope may have,
// one mark on everything takes their place; it makes more void than was asked for, never less.

import type { CoordinationStore } from '../coordination-store.ts';
import { partitionOf } from '../partitions.ts';
import { markKey } from './cache-entry.ts';
import type { CacheIndex } from './cache-index.ts';

export interface Marks {
  /** When one of the labels was last invalidated; 0 when none was. */
  readonly at: number;
  /** A write on condition of these takes effect before the next invalidation, or not at all. */
  readonly ifKeys: ReadonlyMap<string, number>;
}

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
