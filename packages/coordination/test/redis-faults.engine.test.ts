import { setImmediate } from 'node:timers/promises';
import { FabricError } from '@starloom/core';
import { describeWithEngine, freePort } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import type { CoordinationStore } from '../src/coordination-store.ts';
import { openRedisWorld } from './fixtures/redis-world.ts';
import { openTcpProxy } from './fixtures/tcp-proxy.ts';

const unavailable = { code: 'OVERLOADED', details: { reason: 'engine_unavailable' } };
const increment = { writes: [{ kind: 'increment', key: 'n', by: 1 }], event: 'counted' } as const;
const patience = { timeout: 20_000, interval: 20 };

describeWithEngine('redis', (engine) => {
  async function openProxied(deadlineMs?: number) {
    const world = await openRedisWorld(engine().url);
    const proxy = await openTcpProxy(engine().port);
    const store = await world.open({ url: `redis://127.0.0.1:${proxy.port}`, deadlineMs });
    return {
      world,
      proxy,
      store,
      async [Symbol.asyncDispose]() {
        await store.close();
        await proxy[Symbol.asyncDispose]();
        await world[Symbol.asyncDispose]();
      },
    };
  }

  describe('when connections are cut', () => {
    it('fails at most what was under way, by a typed error, and counts nothing twice', async () => {
      await using scene = await openProxied();
      const { store, proxy } = scene;
      let confirmed = 0;
      let failed = 0;
      const count = async (name: string) => {
        for (let n = 0; n < 100; n += 1) {
          const idempotency = { key: `${name}-${n}`, request: 'increment' };
          for (let isDone = false; !isDone; ) {
            try {
              isDone = (await store.commit('p', { ...increment, idempotency })).ok;
              confirmed += 1;
            } catch (error) {
              expect(error).toMatchObject(unavailable);
              failed += 1;
            }
          }
          if (name === 'a' && n % 20 === 10) proxy.cut();
        }
      };
      await Promise.all(['a', 'b', 'c', 'd'].map(count));
      expect(confirmed).toBe(400);
      expect(failed).toBeGreaterThan(0);
      expect((await store.read('p')).entries.get('n')?.value).toBe(400);
    });

    it('loses no event for a watcher who reads on from its cursor', async () => {
      await using scene = await openProxied();
      const { store, proxy, world } = scene;
      const writer = await world.open();
      const follower = await follow(store);
      for (let n = 1; n <= 300; n += 1) {
        await writer.commit('p', increment);
        if (n % 60 === 0) proxy.cut();
      }
      await expect.poll(() => follower.versions.length, patience).toBe(300);
      expect(follower.versions).toEqual(Array.from({ length: 300 }, (_, n) => n + 1));
      await writer.close();
    });

    it('notifies watchers of a partition that was recreated meanwhile', async () => {
      await using scene = await openProxied();
      const { store, proxy, world } = scene;
      const writer = await world.open();
      for (let n = 0; n < 5; n += 1) await writer.commit('p', increment);
      const seen: number[] = [];
      await store.watch('p', (version) => seen.push(version));
      proxy.cut();
      await writer.drop('p');
      await writer.commit('p', increment);
      await expect.poll(() => seen, patience).toContain(1);
      await writer.close();
    });
  });

  describe('when nothing comes back', () => {
    it('fails within the deadline, and recovers on a new connection', async () => {
      await using scene = await openProxied(300);
      const { store, proxy } = scene;
      await store.commit('p', increment);
      proxy.swallow();
      await expect(store.commit('p', increment)).rejects.toMatchObject(unavailable);
      const before = proxy.accepted;
      proxy.heal();
      await expect
        .poll(
          () =>
            store.read('p').then(
              () => true,
              () => false,
            ),
          patience,
        )
        .toBe(true);
      expect(proxy.accepted).toBeGreaterThan(before);
      expect((await store.commit('p', increment)).ok).toBe(true);
    });
  });

  describe('when the greeting gets no answer', () => {
    it('gives the connection up for a new one, again and again, until one works', async () => {
      await using scene = await openProxied(300);
      const { store, proxy, world } = scene;
      const seen: number[] = [];
      await store.watch('p', (version) => seen.push(version));
      proxy.swallow();
      proxy.cut();
      const before = proxy.accepted;
      await expect.poll(() => proxy.accepted - before, patience).toBeGreaterThan(6);
      await expect(store.commit('p', increment)).rejects.toMatchObject(unavailable);
      proxy.heal();
      const commit = () => store.commit('p', increment).catch(() => undefined);
      await expect.poll(commit, patience).toMatchObject({ ok: true });
      const writer = await world.open();
      const { length } = seen;
      await writer.commit('p', increment);
      await expect.poll(() => seen.length, patience).toBeGreaterThan(length);
      await writer.close();
    });
  });

  describe('when Redis goes and comes', () => {
    it('says so at once while it is away, and goes on by itself with nothing lost', async () => {
      await using world = await openRedisWorld(engine().url);
      const store = await world.open({ deadlineMs: 500 });
      const follower = await follow(store);
      for (let n = 0; n < 10; n += 1) await store.commit('p', increment);
      const answer = await store.acquire('p', {
        resource: 'context',
        holder: 'alice',
        mode: 'exclusive',
        ttlMs: 600_000,
      });
      const lease = 'lease' in answer ? answer.lease : expect.fail('not granted');

      await engine().stop();
      await expect(store.commit('p', increment)).rejects.toMatchObject(unavailable);
      await expect(store.read('p')).rejects.toSatisfy(FabricError.is);
      await expect(store.tick()).rejects.toMatchObject(unavailable);
      await engine().restart();

      const fence = { ...lease, resource: 'context' };
      const commit = () => store.commit('p', { ...increment, fence }).catch(() => undefined);
      await expect.poll(commit, patience).toEqual({ ok: true, version: 11 });
      expect((await store.read('p')).entries.get('n')?.value).toBe(11);
      await expect.poll(() => follower.versions.at(-1), patience).toBe(11);
      expect(follower.versions).toEqual(Array.from({ length: 11 }, (_, n) => n + 1));
      await store.close();
    });

    it('cannot be opened while it is away', async () => {
      await using world = await openRedisWorld(engine().url);
      const url = `redis://127.0.0.1:${await freePort()}`;
      await expect(world.open({ url, deadlineMs: 200 })).rejects.toMatchObject(unavailable);
    });

    it('answers nothing after it was closed', async () => {
      await using world = await openRedisWorld(engine().url);
      const store = await world.open();
      await store.watch('p', () => {});
      await store.close();
      await expect(store.commit('p', increment)).rejects.toMatchObject(unavailable);
    });
  });
});

/** Reads on from its cursor whenever it is told to, as subscribers do. */
async function follow(store: CoordinationStore, partition = 'p') {
  const versions: number[] = [];
  let cursor = 0;
  let reading: Promise<void> = Promise.resolve();
  const readOn = async (): Promise<void> => {
    try {
      const page = await store.events(partition, cursor, 1000);
      if (page.gap) expect.fail('a gap');
      versions.push(...page.events.map(({ version }) => version));
      cursor = page.cursor;
    } catch (error) {
      if (!FabricError.is(error)) throw error;
      await setImmediate();
      await readOn();
    }
  };
  const stop = await store.watch(partition, () => {
    reading = reading.then(readOn);
  });
  return { versions, stop };
}
