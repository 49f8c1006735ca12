import { silentLog } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import type { CoordinationStore } from '../src/coordination-store.ts';
import { openEmbeddedStore } from '../src/embedded-store.ts';
import { openWorld } from './fixtures/embedded-world.ts';

const HOUR_MS = 3_600_000;
const lock = { resource: 'context', mode: 'exclusive', ttlMs: 1_000 } as const;

async function acquire(store: CoordinationStore, holder: string, waitMs = 0) {
  return store.acquire('p', { ...lock, holder, waitMs });
}

/** Times go by as ever: a lease, a place in the queue and a key end when they should. */
async function expectTimePasses(store: CoordinationStore, advance: (ms: number) => void) {
  expect(await acquire(store, 'alice')).toHaveProperty('lease');
  expect(await acquire(store, 'bob', 500)).toHaveProperty('queued');
  expect(await acquire(store, 'carol', 5_000)).toHaveProperty('queued');
  await store.commit('p', { writes: [{ kind: 'put', key: 'beat', value: 1, ttlMs: 1_000 }] });
  advance(999);
  await store.tick();
  expect((await store.leases('p', 'context')).map(({ holder }) => holder)).toEqual(['alice']);
  expect((await store.waiting('p')).map(({ holder }) => holder)).toEqual(['carol']);
  advance(1);
  await store.tick();
  expect((await store.leases('p', 'context')).map(({ holder }) => holder)).toEqual(['carol']);
  expect((await store.read('p')).entries.size).toBe(0);
}

describe('an embedded store', () => {
  it('lets time pass although the wall clock was set back while it runs', async () => {
    await using world = await openWorld();
    const { clock, path } = world;
    let setBackBy = 0;
    const wall = { now: () => clock.now() - setBackBy, monotonic: () => clock.monotonic() };
    const store = await openEmbeddedStore({ path, clock: wall, log: silentLog });
    const before = await store.acquire('p', { ...lock, resource: 'other', holder: 'alice' });
    setBackBy = HOUR_MS;
    await expectTimePasses(store, (ms) => clock.advance(ms));
    const [after] = await store.leases('p', 'context');
    const token = 'lease' in before ? before.lease.token : expect.fail('not granted');
    expect(after?.token).toBeGreaterThan(token);
    await store.close();
  });

  it('lets time pass on a file that was written while the clock was ahead, and says so', async () => {
    const lines: object[] = [];
    const log = { ...silentLog, warn: (fields: object) => void lines.push(fields) };
    await using world = await openWorld({ log });
    const first = await world.open();
    await first.commit('p', { writes: [{ kind: 'put', key: 'a', value: 1, ttlMs: 500 }] });
    await first.close();
    world.clock.advance(-HOUR_MS);
    const second = await world.open();
    expect(lines).toEqual([{ path: world.path, ahead_ms: HOUR_MS }]);
    await expectTimePasses(second, (ms) => world.clock.advance(ms));
    await second.close();
  });
});
