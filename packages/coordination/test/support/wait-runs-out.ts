import { describe, expect, it } from 'vitest';
import type { CoordinationStore, LeaseRequest } from '../../src/coordination-store.ts';

interface Opened extends AsyncDisposable {
  readonly store: CoordinationStore;
  advance(ms: number): Promise<void>;
}

/** What happens behind a place in a queue whose time is over, in any store. */
export function waitRunsOut(name: string, open: () => Promise<Opened>): void {
  describe(`a wait that runs out, in a store ${name}`, () => {
    it.each([
      ['with a tick', (store: CoordinationStore) => store.tick()],
      ['with the next write', (store: CoordinationStore) => store.commit('p', { writes: [] })],
      ['with the next request', (store: CoordinationStore) => ask(store, 'late', 'elsewhere')],
    ])('lets those behind it have the lock then, %s', async (_, settle) => {
      await using opened = await open();
      const { store } = opened;
      await ask(store, 'reader', 'x', { mode: 'shared' });
      await ask(store, 'writer', 'x', { waitMs: 500 });
      const queued = [];
      for (const holder of ['second', 'third']) {
        const answer = await ask(store, holder, 'x', { mode: 'shared', waitMs: 10_000 });
        queued.push('queued' in answer ? answer.queued.ticket : expect.fail('not queued'));
      }
      await opened.advance(700);
      await settle(store);
      expect(await holders(store)).toEqual(['reader', 'second', 'third']);
      expect(await store.waiting('p')).toEqual([]);
      const { events } = await store.events('p', 0, 10);
      expect(events.map(({ event }) => event)).toMatchObject(
        queued.map((ticket) => ({ type: 'lock.granted', ticket })),
      );
    });

    it('gives a lock that is free at the same moment to the one behind it', async () => {
      await using opened = await open();
      const { store } = opened;
      await ask(store, 'holder', 'x', { ttlMs: 500 });
      await ask(store, 'impatient', 'x', { waitMs: 500 });
      await ask(store, 'patient', 'x', { waitMs: 10_000 });
      await opened.advance(500);
      await store.tick();
      expect(await holders(store)).toEqual(['patient']);
      const { events } = await store.events('p', 0, 10);
      expect(events.map(({ event }) => event)).toMatchObject([
        { type: 'lock.lost', holder: 'holder', reason: 'expired' },
        { type: 'lock.granted', holder: 'patient' },
      ]);
    });

    it('grants on each resource on which one ran out', async () => {
      await using opened = await open();
      const { store } = opened;
      for (const resource of ['x', 'y', 'z']) {
        await ask(store, `reader of ${resource}`, resource, { mode: 'shared' });
        await ask(store, 'writer', resource, { waitMs: resource === 'z' ? 5_000 : 500 });
        await ask(store, `late at ${resource}`, resource, { mode: 'shared', waitMs: 10_000 });
      }
      await opened.advance(700);
      await store.tick();
      expect(await holders(store, 'x')).toEqual(['late at x', 'reader of x']);
      expect(await holders(store, 'y')).toEqual(['late at y', 'reader of y']);
      expect(await holders(store, 'z')).toEqual(['reader of z']);
    });
  });
}

function ask(
  store: CoordinationStore,
  holder: string,
  resource: string,
  more: Partial<LeaseRequest> = {},
) {
  const request = { resource, holder, mode: 'exclusive', ttlMs: 60_000 } as const;
  return store.acquire('p', { ...request, ...more });
}

async function holders(store: CoordinationStore, resource = 'x'): Promise<readonly string[]> {
  return (await store.leases('p', resource)).map(({ holder }) => holder).sort();
}
