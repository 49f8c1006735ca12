import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLog } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import type { CoordinationStore } from '../src/coordination-store.ts';
import { openEmbeddedStore } from '../src/embedded-store.ts';
import { openStore } from '../src/store.ts';
import { coordinationStoreContract } from './contract/coordination-store-contract.ts';
import { count, openWorld, rows } from './fixtures/embedded-world.ts';

const kept = { keepsEvents: 100, keepsEventBytes: 16_000 };
const limits = { keepEvents: kept.keepsEvents, keepEventBytes: kept.keepsEventBytes };

coordinationStoreContract('embedded, in memory', async () => {
  const clock = new ManualClock();
  const store = await openEmbeddedStore({ clock, log: silentLog, ...limits });
  return { store, ...kept, advance: async (ms) => clock.advance(ms), close: async () => {} };
});

coordinationStoreContract('embedded, in a file', async () => {
  const clock = new ManualClock();
  const folder = await temporaryFolder();
  const path = join(folder.path, 'new', 'coordination.db');
  const store = await openEmbeddedStore({ path, clock, log: silentLog, ...limits });
  const advance = async (ms: number) => clock.advance(ms);
  const close = async () => folder[Symbol.asyncDispose]();
  return { store, ...kept, advance, close };
});

const lock = { resource: 'context', mode: 'exclusive', ttlMs: 1000 } as const;

/** All that the port shows of a partition. */
async function everything(store: CoordinationStore, partition = 'p') {
  return {
    snapshot: await store.read(partition),
    events: await store.events(partition, 0, 1000),
    leases: await store.leases(partition),
    waiting: await store.waiting(partition),
  };
}

/** A partition with something of everything in it. */
async function fill(store: CoordinationStore): Promise<void> {
  const onExpire = { gone: 'presence' };
  await store.commit('p', {
    writes: [
      { kind: 'put', key: 'text', value: { deep: ['ö', null] } },
      { kind: 'put', key: 'presence', value: 1, ttlMs: 500, onExpire },
    ],
    event: { type: 'written' },
    idempotency: { key: 'first', request: 'it' },
  });
  const answer = await store.acquire('p', { ...lock, holder: 'alice' });
  await store.acquire('p', { ...lock, holder: 'bob', waitMs: 5000, priority: 3 });
  await store.acquire('p', { ...lock, holder: 'carol', mode: 'shared', waitMs: 5000 });
  const fence = 'lease' in answer ? answer.lease : expect.fail('not granted');
  const ifKeys = new Map([['fenced', 0]]);
  await store.commit('p', { writes: [{ kind: 'put', key: 'fenced', value: 1 }], fence, ifKeys });
}

describe('an embedded store in a file', () => {
  it('is the same after it was closed and opened again', async () => {
    await using world = await openWorld();
    const first = await world.open();
    await fill(first);
    const before = await everything(first);
    await first.close();
    const second = await world.open();
    expect(await everything(second)).toEqual(before);
    const { entries } = await second.read('p');
    expect(entries.get('fenced')).toEqual({ value: 1, version: 2 });
    await second.close();
  });

  it('goes on with time, locks and idempotency where it was', async () => {
    await using world = await openWorld();
    const first = await world.open();
    await fill(first);
    const [alice] = await first.leases('p');
    await first.close();
    world.clock.advance(2000);
    const second = await world.open();
    const repeated = { writes: [], idempotency: { key: 'first', request: 'it' } };
    expect(await second.commit('p', repeated)).toEqual({ ok: true, version: 1 });
    await second.tick();
    const { events } = await second.events('p', 2, 10);
    expect(events.map(({ event }) => event)).toMatchObject([
      { gone: 'presence' },
      { type: 'lock.lost', holder: 'alice' },
      { type: 'lock.granted', holder: 'bob' },
    ]);
    const fence = { resource: 'context', token: alice?.token ?? 0 };
    expect(await second.commit('p', { writes: [], fence })).toEqual({
      ok: false,
      reason: 'fenced',
    });
    await second.close();
  });

  it('never goes back in time, whatever the clock does between two runs', async () => {
    await using world = await openWorld();
    const first = await world.open();
    await first.acquire('p', { ...lock, holder: 'alice' });
    const [before] = await first.leases('p');
    await first.close();
    world.clock.advance(-3_600_000);
    const second = await world.open();
    const answer = await second.acquire('p', { ...lock, resource: 'other', holder: 'bob' });
    expect('lease' in answer && answer.lease.token).toBeGreaterThan(before?.token ?? 0);
    await second.close();
  });

  it('replaces its log by snapshots, and is the same after that', async () => {
    await using world = await openWorld({ smallestLogBytes: 2_000 });
    const first = await world.open();
    for (let n = 0; n < 200; n += 1) {
      await Promise.all([count(first), count(first, `q${n % 20}`), count(first, 'dropped')]);
      if (n % 30 === 0) await first.drop('dropped');
    }
    await fill(first);
    const names = ['p', 'dropped', ...Array.from({ length: 20 }, (_, n) => `q${n}`)];
    const all = (store: CoordinationStore) =>
      Promise.all(names.map((name) => everything(store, name)));
    const before = await all(first);
    await first.close();
    expect(rows(world.path, 'log')).toBeLessThan(150);
    expect(rows(world.path, 'snapshot')).toBeGreaterThan(0);
    const second = await world.open();
    expect(await all(second)).toEqual(before);
    await count(second);
    await second.close();
    const third = await world.open();
    expect((await third.read('p')).entries.get('n')?.value).toBe(201);
    await third.close();
  });

  it('lets one opener in and tells the second what is wrong', async () => {
    await using world = await openWorld();
    const first = await world.open();
    await expect(world.open()).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'store_in_use', path: world.path },
    });
    await count(first);
    await first.close();
    const second = await world.open();
    expect((await second.read('p')).version).toBe(1);
    await second.close();
  });

  it('is opened by its configuration, as is one that keeps nothing', async () => {
    await using world = await openWorld();
    for (const config of [{ path: world.path }, {}]) {
      const store = await openStore({ kind: 'embedded', ...config }, { log: silentLog });
      expect(await count(store)).toEqual({ ok: true, version: 1 });
      await store.close();
    }
    expect(rows(world.path, 'log')).toBe(1);
  });

  it('answers nothing after it was closed', async () => {
    await using world = await openWorld();
    const store = await world.open();
    const last = count(store);
    await store.close();
    expect(await last).toEqual({ ok: true, version: 1 });
    await expect(count(store)).rejects.toMatchObject({ code: 'OVERLOADED' });
    await expect(store.read('p')).rejects.toMatchObject({ code: 'OVERLOADED' });
  });

  it('keeps its file from other users', async () => {
    await using world = await openWorld();
    const store = await world.open();
    await count(store);
    for (const suffix of ['', '-wal']) {
      expect((await stat(`${world.path}${suffix}`)).mode & 0o077).toBe(0);
    }
    await store.close();
  });
});
