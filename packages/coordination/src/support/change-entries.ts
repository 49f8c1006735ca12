import type { Json } from '@starloom/core';
import type { CoordinationStore, Snapshot, Write } from '../coordination-store.ts';

interface Change {
  readonly writes: readonly Write[];
  readonly event?: Json | undefined;
}

/**
 * Changes a partition by what `decide` finds in these entries. Where one of them changed meanwhile, it
 * decides again. Returns what was decided; `undefined` when that was to change nothing.
 */
export async function changeEntries<Decided extends Change>(
  store: CoordinationStore,
  partition: string,
  keys: readonly string[],
  decide: (current: Snapshot) => Decided | undefined,
): Promise<Decided | undefined> {
  for (;;) {
    const current = await store.read(partition, keys);
    const decided = decide(current);
    if (decided === undefined) return undefined;
    const { writes, event } = decided;
    const ifKeys = new Map(keys.map((key) => [key, current.entries.get(key)?.version ?? 0]));
    const { ok } = await store.commit(partition, { writes, event, ifKeys });
    if (ok) return decided;
  }
}
