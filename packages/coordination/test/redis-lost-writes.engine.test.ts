import { FabricError, silentLog } from '@starloom/core';
import { describeWithEngine } from '@starloom/testkit';
import { createClient } from 'redis';
import { describe, expect, it } from 'vitest';
import type { CoordinationStore } from '../src/coordination-store.ts';
import { RedisConnection } from '../src/redis/connection.ts';
import { createScripts } from '../src/redis/script.ts';
import { type StreamEntry, WatchedStream } from '../src/redis/stream-reader.ts';
import { openRedisWorld } from './fixtures/redis-world.ts';
import { openTcpProxy } from './fixtures/tcp-proxy.ts';

const patience = { timeout: 20_000, interval: 20 };

describeWithEngine('redis', (engine) => {
  /** A store that watches `p`, of which three events are kept and ten will be lost. */
  async function openScene() {
    const world = await openRedisWorld(engine().url);
    const proxy = await openTcpProxy(engine().port);
    const watching = await world.open({ url: `redis://127.0.0.1:${proxy.port}` });
    const writer = await world.open();
    const alsoWatching = await world.open({ url: `redis://127.0.0.1:${proxy.port}` });
    const follower = await follow(watching);
    const another = await follow(alsoWatching);
    await write(writer, 'kept', 3);
    await world.client.configSet('appendonly', 'no');
    await write(writer, 'lost', 10);
    await expect.poll(() => [follower.cursor, another.cursor], patience).toEqual([13, 13]);
    return {
      proxy,
      writer,
      follower,
      another,
      async comeBackWithLess() {
        proxy.allow(0);
        await engine().kill();
        await engine().restart();
        await expect.poll(() => versionOf(writer), patience).toBe(3);
      },
      async [Symbol.asyncDispose]() {
        await Promise.all([writer, watching, alsoWatching].map((store) => store.close()));
        await proxy[Symbol.asyncDispose]();
        await world[Symbol.asyncDispose]();
      },
    };
  }

  describe('when Redis comes back with fewer writes', () => {
    it('tells watchers of the gap before anything new, even if they were idle', async () => {
      await using scene = await openScene();
      await scene.comeBackWithLess();
      scene.proxy.heal();
      await expect.poll(() => scene.follower.gaps, patience).toBe(1);
      await write(scene.writer, 'new', 2);
      await expect.poll(() => scene.follower.news.slice(-2), patience).toEqual(['new 0', 'new 1']);
      expect(scene.follower.gaps).toBe(1);
    });

    it.each([5, 10, 15])(
      'tells them of the gap when %i other writes came instead',
      async (count) => {
        await using scene = await openScene();
        await scene.comeBackWithLess();
        await write(scene.writer, 'instead', count);
        scene.proxy.heal();
        await expect.poll(() => scene.follower.gaps, patience).toBe(1);
        await write(scene.writer, 'new', 2);
        await expect
          .poll(() => scene.follower.news.slice(-2), patience)
          .toEqual(['new 0', 'new 1']);
        expect(scene.follower.gaps).toBe(1);
      },
    );

    it('tells every gateway once', async () => {
      await using scene = await openScene();
      await scene.comeBackWithLess();
      await write(scene.writer, 'instead', 15);
      scene.proxy.heal();
      const { follower, another } = scene;
      await expect.poll(() => [follower.gaps, another.gaps], patience).toEqual([1, 1]);
      await write(scene.writer, 'new', 2);
      const news = () => [follower, another].map((one) => one.news.at(-1));
      await expect.poll(news, patience).toEqual(['new 1', 'new 1']);
      expect([follower.gaps, another.gaps]).toEqual([1, 1]);
    });

    it('takes no cursor and no version of the lost past for one of the new', async () => {
      await using scene = await openScene();
      await scene.comeBackWithLess();
      await write(scene.writer, 'instead', 10);
      scene.proxy.heal();
      await expect.poll(() => scene.follower.gaps, patience).toBe(1);
      expect(await scene.writer.events('p', 12, 100)).toMatchObject({ gap: true });
      expect(await scene.writer.commit('p', { writes: [], ifVersion: 13 })).toMatchObject({
        ok: false,
        reason: 'conflict',
      });
      const page = await scene.writer.events('p', 0, 100);
      expect(page).toMatchObject({ gap: false, cursor: 14 });
      expect(page.events).toHaveLength(13);
    });
  });

  describe('when a partition goes without a word', () => {
    it('notifies its watchers within seconds, although the connection is up', async () => {
      await using world = await openRedisWorld(engine().url);
      const [store, writer] = [await world.open(), await world.open()];
      const follower = await follow(store);
      await write(writer, 'told', 3);
      await expect.poll(() => follower.cursor, patience).toBe(3);
      await world.client.flushAll();
      await expect.poll(() => follower.gaps, patience).toBe(1);
      expect(follower.cursor).toBe(0);
      await Promise.all([store.close(), writer.close()]);
    });

    it('takes what was written under its name meanwhile for another past', async () => {
      await using world = await openRedisWorld(engine().url);
      const writer = await world.open();
      const connection = new RedisConnection({ createClient, url: engine().url, log: silentLog });
      const stream = new WatchedStream('p', createScripts().resume);
      await write(writer, 'old', 3);
      await stream.resume(connection);
      await world.client.flushAll();
      await write(writer, 'new', 8);
      const entries = await connection.send<StreamEntry[]>(['XRANGE', stream.key, '-', '+']);
      await stream.hear(entries, connection);
      expect(await writer.events('p', 3, 100)).toMatchObject({ gap: true });
      connection.close();
      await writer.close();
    });

    it('does so while another partition keeps the reader busy', async () => {
      await using world = await openRedisWorld(engine().url);
      const [store, writer] = [await world.open(), await world.open()];
      const follower = await follow(store);
      await store.watch('busy', () => {});
      await write(writer, 'told', 3);
      await expect.poll(() => follower.cursor, patience).toBe(3);
      await world.client.flushAll();
      const isTold = async () => {
        await write(writer, 'noise', 1, 'busy');
        return follower.gaps;
      };
      await expect.poll(isTold, patience).toBe(1);
      await Promise.all([store.close(), writer.close()]);
    });
  });
});

async function write(store: CoordinationStore, what: string, count: number, partition = 'p') {
  for (let n = 0; n < count; n += 1) {
    const event = `${what} ${n}`;
    await store.commit(partition, { writes: [{ kind: 'put', key: what, value: n }], event });
  }
}

async function versionOf(store: CoordinationStore): Promise<number | undefined> {
  try {
    return (await store.read('p', [])).version;
  } catch (error) {
    if (!FabricError.is(error)) throw error;
    return undefined;
  }
}

/** Reads on from its cursor whenever it is told to, as subscribers do. */
async function follow(store: CoordinationStore) {
  const follower = { news: [] as unknown[], gaps: 0, cursor: 0 };
  let reading: Promise<void> = Promise.resolve();
  const readOn = async () => {
    const page = await store.events('p', follower.cursor, 1000);
    if (page.gap) follower.gaps += 1;
    else follower.news.push(...page.events.map(({ event }) => event));
    follower.cursor = page.cursor;
  };
  await store.watch('p', () => {
    reading = reading.then(readOn).catch((error: unknown) => {
      if (!FabricError.is(error)) throw error;
    });
  });
  return follower;
}
