import { MemoryCoordinationStore } from '@starloom/coordination/testing';
import { describe, expect, it } from 'vitest';
import { ACTS, toActs } from '../../prove/coordination/acts.ts';
import { BROKEN_STORES } from '../../prove/coordination/broken-stores.ts';
import { proveStore } from '../../prove/coordination/prove-store.ts';
import { INVARIANTS } from '../../prove/coordination/violation.ts';

const MAX_ATTEMPTS = 20;

describe('the proof', () => {
  it('finds nothing wrong with a store that keeps its promises', async ({ signal }) => {
    await using world = openMemory();
    const proven = await proveStore(world.store, { seconds: 1, seed: 1, signal });
    expect(proven.violations).toEqual([]);
    expect(proven).toMatchObject({ undecided: 0, keys: 18 });
    expect(proven.history.operations.length).toBeGreaterThan(100);
    for (const { deliveries } of proven.history.subscriptions) {
      expect(deliveries.length).toBeGreaterThan(10);
      expect(deliveries.filter(({ kind }) => kind !== 'update')).toEqual([]);
    }
  });

  it('sees everything happen that it has a check for', async ({ signal }) => {
    const unseen = new Set<string>(ACTS);
    for (let seed = 1; seed <= MAX_ATTEMPTS && unseen.size > 0; seed += 1) {
      await using world = openMemory();
      const { history } = await proveStore(world.store, { seconds: 1, seed, signal });
      for (const act of history.operations.flatMap(toActs)) unseen.delete(act);
    }
    expect([...unseen]).toEqual([]);
  });

  it.for(BROKEN_STORES)('finds it out when $fault', async ({ around, breaks }, { signal }) => {
    const found: string[] = [];
    for (let seed = 1; seed <= MAX_ATTEMPTS && !found.includes(breaks); seed += 1) {
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
