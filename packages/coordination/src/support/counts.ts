// Counts that a partition keeps of how often it helped, for caches and buffers.

import type { CoordinationStore, Snapshot, Write } from '../coordination-store.ts';

const countKey = (name: string) => `count/${name}`;

export function countWrite(name: string, by = 1): Write {
  return { kind: 'increment', key: countKey(name), by };
}

/** The counts, and which share of the reads found something. */
export function countsIn<Name extends string>({ entries }: Snapshot, names: readonly Name[]) {
  const count = (name: string) => Number(entries.get(countKey(name))?.value ?? 0);
  const [hits, misses] = [count('hits'), count('misses')];
  const hit_rate = hits + misses === 0 ? 0 : hits / (hits + misses);
  const others = Object.fromEntries(names.map((name) => [name, count(name)]));
  return { hits, misses, hit_rate, ...(others as Record<Name, number>) };
}

export async function resetCounts(store: CoordinationStore, partition: string): Promise<void> {
  const { entries } = await store.read(partition);
  const counts = [...entries.keys()].filter((key) => key.startsWith(countKey('')));
  await store.commit(partition, { writes: counts.map((key) => ({ kind: 'delete', key })) });
}
