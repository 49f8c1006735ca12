import { silentLog } from '@starloom/core';
import { describeWithEngine } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { openStore } from '../src/store.ts';
import { coordinationStoreContract } from './contract/coordination-store-contract.ts';
import { openRedisWorld } from './fixtures/redis-world.ts';
import {
  checkAgainstModel,
  MODEL_KEEPS_EVENTS,
  MODEL_SEEDS,
  MODEL_START,
} from './store-operations.ts';

const increment = { writes: [{ kind: 'increment', key: 'n', by: 1 }], event: 'counted' } as const;
const lock = { resource: 'context', mode: 'exclusive', ttlMs: 60_000 } as const;

describeWithEngine('redis', (engine) => {
  coordinationStoreContract('redis', async () => {
    const world = await openRedisWorld(engine().url);
    const kept = { keepsEvents: 100, keepsEventBytes: 16_000 };
    const limits = { keepEvents: kept.keepsEvents, keepEventBytes: kept.keepsEventBytes };
    const store = await world.open(limits);
    const close = async () => world[Symbol.asyncDispose]();
    return { store, ...kept, advance: world.letPass, close };
  });

  describe.each(MODEL_SEEDS)('a store in Redis that takes random steps (seed %i)', (seed) => {
    it('does what the model says', async () => {
      await using world = await openRedisWorld(engine().url);
      const open = async () => {
        await world.client.flushAll();
        const { store, advance } = await world.openAt(MODEL_START, {
          keepEvents: MODEL_KEEPS_EVENTS,
        });
        const reopen = async () => {
          await world.client.scriptFlush();
          return store;
        };
        return { store, advance, reopen, close: async () => {} };
      };
      await checkAgainstModel(open, { seed, runs: 60 });
    });
  });

  describe('a store in Redis', () => {
    it('is one store for all who open it', async () => {
      await using world = await openRedisWorld(engine().url);
      const stores = await Promise.all(Array.from({ length: 4 }, () => world.open()));
      await Promise.all(
        Array.from({ length: 100 }, (_, n) => stores[n % 4]?.commit('p', increment)),
      );
      const answers = await Promise.all(
        stores.map((store, n) => store.acquire('p', { ...lock, holder: `agent-${n}` })),
      );
      expect(answers.filter((answer) => 'lease' in answer)).toHaveLength(1);
      const snapshots = await Promise.all(stores.map((store) => store.read('p')));
      for (const { entries } of snapshots) expect(entries.get('n')?.value).toBe(100);
      await Promise.all(stores.map((store) => store.close()));
    });

    it('tells watchers of one process what another wrote', async () => {
      await using world = await openRedisWorld(engine().url);
      const [writer, reader] = [await world.open(), await world.open()];
      const seen: number[] = [];
      await reader.watch('p', (version) => seen.push(version));
      for (let n = 0; n < 20; n += 1) await writer.commit('p', increment);
      await expect.poll(() => seen.at(-1)).toBe(20);
      expect(seen).toEqual(seen.toSorted((a, b) => a - b));
      await Promise.all([writer.close(), reader.close()]);
    });

    it('reads for all watches of a process on one connection', async () => {
      await using world = await openRedisWorld(engine().url);
      const store = await world.open();
      const others = await connections(world);
      const seen = new Set<string>();
      for (let n = 0; n < 200; n += 1) await store.watch(`p${n}`, () => seen.add(`p${n}`));
      expect((await connections(world)) - others).toBe(1);
      await Promise.all(Array.from({ length: 200 }, (_, n) => store.commit(`p${n}`, increment)));
      await expect.poll(() => seen.size).toBe(200);
      await store.close();
    });

    it('keeps all keys of a partition in one slot, and forgets all with a drop', async () => {
      await using world = await openRedisWorld(engine().url);
      const store = await world.open();
      const onExpire = 'gone';
      await store.commit('p', {
        writes: [{ kind: 'put', key: 'a', value: 1, ttlMs: 60_000, onExpire }],
        event: 'told',
      });
      await store.acquire('p', { ...lock, holder: 'alice' });
      await store.acquire('p', { ...lock, holder: 'bob', waitMs: 60_000 });
      const keys = await world.client.keys('*');
      expect(keys.length).toBeGreaterThan(7);
      expect(new Set(keys.map((key) => /\{.*?\}/.exec(key)?.[0])).size).toBe(1);
      await store.drop('p');
      const left = await world.client.keys('*');
      expect(left.map((key) => key.split(':').at(-1))).toEqual(['floor']);
      await store.close();
    });

    it('leaves nothing behind of locks that came and went', async () => {
      await using world = await openRedisWorld(engine().url);
      const { store, advance } = await world.openAt(MODEL_START);
      for (let n = 0; n < 50; n += 1) {
        await store.acquire(`p${n}`, { ...lock, holder: 'alice', ttlMs: 100 });
      }
      await advance(200);
      for (let n = 0; n < 50; n += 1) {
        expect(await store.events(`p${n}`, 0, 10)).toMatchObject({ events: [] });
      }
      await store.tick();
      expect((await store.events('p7', 0, 10)).events).toMatchObject([
        { event: { type: 'lock.lost' } },
      ]);
      const due = await world.client.keys('*:due');
      expect(due).toEqual([]);
      await store.close();
    });

    it('leaves nothing behind of a partition that has held nothing for ten minutes', async () => {
      await using world = await openRedisWorld(engine().url);
      const { store, advance } = await world.openAt(MODEL_START);
      const left = async () =>
        (await world.client.keys('*')).filter((key) => !/floor$|time of tests/.test(key));
      const put = { kind: 'put', key: 'a', value: 1 } as const;
      const expiring = { ...put, ttlMs: 1000 };
      for (let n = 0; n < 20; n += 1) await store.commit(`deleted${n}`, { writes: [put] });
      for (let n = 0; n < 20; n += 1) await store.commit(`expired${n}`, { writes: [expiring] });
      await store.commit('told', { writes: [put], event: 'told' });
      await store.commit('refilled', { writes: [put] });
      const writes = [{ kind: 'delete', key: 'a' }] as const;
      for (let n = 0; n < 20; n += 1) await store.commit(`deleted${n}`, { writes });
      for (const name of ['told', 'refilled']) await store.commit(name, { writes });
      await advance(1000);
      await store.tick();
      await store.commit('refilled', { writes: [put] });
      expect(await store.read('deleted7')).toMatchObject({ version: 2 });
      await advance(600_000);
      await store.tick();
      const names = (await left()).map((key) => key.replace(/^.*\}:/, ''));
      expect(names.sort()).toEqual(['d:refilled', 'e:told', 'm:refilled', 'm:told']);
      expect(await store.read('deleted7')).toMatchObject({ version: 0 });
      expect(await store.commit('deleted7', { writes: [put] })).toEqual({ ok: true, version: 1 });
      expect(await store.read('refilled')).toMatchObject({ version: 3 });
      await store.close();
    });

    it('ticks through more partitions than one script takes', async () => {
      await using world = await openRedisWorld(engine().url);
      const { store, advance } = await world.openAt(MODEL_START);
      const writes = [{ kind: 'put', key: 'a', value: 1, ttlMs: 100, onExpire: 'gone' }] as const;
      const names = Array.from({ length: 3000 }, (_, n) => `p${n}`);
      await Promise.all(names.map((name) => store.commit(name, { writes })));
      await advance(200);
      await Promise.all([store.tick(), store.tick()]);
      const pages = await Promise.all(names.map((name) => store.events(name, 0, 10)));
      expect(pages.every(({ events }) => events.length === 1)).toBe(true);
      await store.close();
    });

    it('leaves nothing behind when it is checked', async () => {
      await using world = await openRedisWorld(engine().url);
      const store = await world.open();
      expect(await store.check()).toEqual([]);
      expect(await world.client.keys('*')).toEqual([]);
      await store.close();
    });

    it('runs on when Redis forgets its scripts', async () => {
      await using world = await openRedisWorld(engine().url);
      const store = await world.open();
      await store.commit('p', increment);
      await world.client.scriptFlush();
      expect(await store.commit('p', increment)).toEqual({ ok: true, version: 2 });
      await store.close();
    });

    it('is opened by its configuration', async () => {
      await using world = await openRedisWorld(engine().url);
      void world;
      const store = await openStore({ kind: 'redis', url: engine().url }, { log: silentLog });
      expect(await store.commit('p', increment)).toEqual({ ok: true, version: 1 });
      await store.close();
    });
  });
});

async function connections({ client }: Awaited<ReturnType<typeof openRedisWorld>>) {
  return String(await client.sendCommand(['CLIENT', 'LIST']))
    .trim()
    .split('\n').length;
}
