import { describeWithEngine } from '@starloom/testkit';
import { expect, it } from 'vitest';
import type { Lease } from '../src/coordination-store.ts';
import { baseOf, keyOf } from '../src/redis/script.ts';
import { openRedisWorld } from './fixtures/redis-world.ts';

/** More than the stack of a script can hold. */
const MANY = 10_000;
const NOW = 1_800_000_000_000;
const TTL_MS = 5_000;
const HANG_GUARD_MS = 60_000;
const lock = { resource: 'context', mode: 'shared', ttlMs: TTL_MS, waitMs: 60_000 } as const;

/** A store where one holds the lock and many wait to share it. */
async function openQueue(url: string) {
  const world = await openRedisWorld(url);
  const { store, advance } = await world.openAt(NOW, { deadlineMs: HANG_GUARD_MS });
  const held = await store.acquire('p', { ...lock, mode: 'exclusive', holder: 'writer' });
  await store.acquire('p', { ...lock, holder: 'reader-0' });
  const { client } = world;
  const [first] = JSON.parse((await client.hGet(keyOf('q', 'p'), 'context')) ?? '[]');
  const number = Number.parseInt(first.ticket, 10);
  const places = Array.from({ length: MANY }, (_, n) => {
    return { ...first, ticket: `${number + n}:context`, holder: `reader-${n}` };
  });
  await client.hSet(keyOf('q', 'p'), 'context', JSON.stringify(places));
  await client.hSet(keyOf('m', 'p'), 'sequence', String(number + MANY));
  await client.zAdd(
    `${baseOf('p')}t:p`,
    places.map(({ ticket, until }) => ({ score: until, value: `w${ticket}` })),
  );
  return {
    store,
    advance,
    lease: 'lease' in held ? held.lease : expect.fail('not granted'),
    async [Symbol.asyncDispose]() {
      await store.close();
      await world[Symbol.asyncDispose]();
    },
  };
}

describeWithEngine('redis', (engine) => {
  it(
    'grants a long queue at once and says to whom; what was granted expires at once',
    async () => {
      await using queue = await openQueue(engine().url);
      const { store, lease } = queue;
      const { released, granted } = await store.release('p', lease);
      expect(released).toBe(true);
      expect(granted).toHaveLength(MANY);
      expect(granted.at(-1)).toMatchObject({ holder: `reader-${MANY - 1}` });
      expect(await store.leases('p')).toEqual(granted);
      expect(await store.waiting('p')).toEqual([]);
      await queue.advance(TTL_MS);
      await store.tick();
      expect((await store.read('p')).version).toBe(2 * MANY);
      expect(await store.acquire('p', { ...lock, holder: 'next' })).toHaveProperty('lease');
    },
    HANG_GUARD_MS,
  );

  it(
    'breaks the lock before a long queue, and all that were granted after it',
    async () => {
      await using queue = await openQueue(engine().url);
      const { store } = queue;
      const { granted } = await store.breakLease('p', 'context');
      expect(granted).toHaveLength(MANY);
      const last: Lease = granted.at(-1) ?? expect.fail('nothing granted');
      await store.acquire('p', { ...lock, mode: 'exclusive', holder: 'next' });
      expect(await store.breakLease('p', 'context', last.token)).toMatchObject({ granted: [] });
      expect(await store.leases('p')).toHaveLength(MANY - 1);
      expect(await store.breakLease('p', 'context')).toMatchObject({
        released: true,
        granted: [{ holder: 'next' }],
      });
    },
    HANG_GUARD_MS,
  );

  it(
    'gives up all places of a long queue when their time is over',
    async () => {
      await using queue = await openQueue(engine().url);
      const { store, lease, advance } = queue;
      await store.renew('p', lease, 600_000);
      await advance(60_000);
      await store.tick();
      expect(await store.release('p', lease)).toEqual({ released: true, granted: [] });
      expect(await store.waiting('p')).toEqual([]);
    },
    HANG_GUARD_MS,
  );
});
