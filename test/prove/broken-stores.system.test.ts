import { MemoryCoordinationStore } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { BROKEN_STORES } from '../../prove/coordination/broken-stores.ts';
import { proveStore } from '../../prove/coordination/prove-store.ts';
import { INVARIANTS } from '../../prove/coordination/violation.ts';

const MOST_ATTEMPTS = 20;

describe('the proof', () => {
  it('finds nothing wrong with a store that keeps its promises', async ({ signal }) => {
    await using world = openMemory();
    const proven = await proveStore(world.store, { seconds: 1, seed: 1, signal });
    expect(proven.violations).toEqual([]);
    expect(proven).toMatchObject({ undecided: 0, keys: 18 });
    expect(proven.history.operations.length).toBeGreaterThan(100);
  });

  it.for(BROKEN_STORES)('finds it out when $fault', async ({ around, breaks }, { signal }) => {
    const found: string[] = [];
    for (let seed = 1; seed <= MOST_ATTEMPTS && !found.includes(breaks); seed += 1) {
      await using world = openMemory();
      const { violations } = await proveStore(around(world.store), { seconds: 1, seed, signal });
      found.push(...violations.map(({ invariant }) => invariant));
    }
    expect(found).toContain(breaks);
  });

  it('has a broken store for every invariant', () => {
    const broken = new Set(BROKEN_STORES.map(({ breaks }) => breaks));
    expect(broken).toEqual(new Set(INVARIANTS));
  });
});

function openMemory() {
  const store = new MemoryCoordinationStore();
  return { store, [Symbol.asyncDispose]: () => store.close() };
}
