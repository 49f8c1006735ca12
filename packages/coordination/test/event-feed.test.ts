import { silentLog } from '@starloom/core';
import { expect, it } from 'vitest';
import { EventFeeds } from '../src/feed/event-feed.ts';
import { MemoryCoordinationStore } from '../src/testing.ts';

function open(keepEvents = 10_000) {
  const store = new MemoryCoordinationStore({ keepEvents });
  const feeds = new EventFeeds({ store, log: silentLog });
  const tell = async (n: number) => {
    const answer = await store.commit('p', { writes: [], event: n });
    return answer.ok ? answer.version : 0;
  };
  const follow = async (after?: number, backlog = 1_000) => {
    const seen: unknown[] = [];
    const following = await feeds.follow('p', {
      after,
      backlog,
      deliver: ({ event }) => void seen.push(event),
      gap: (cursor) => void seen.push(`gap to ${cursor}`),
    });
    return { seen, following };
  };
  return { store, feeds, tell, follow };
}

it('reads once for all followers of a partition', async () => {
  const { store, feeds, tell, follow } = open();
  let reads = 0;
  const events = store.events.bind(store);
  store.events = (...args) => {
    reads += 1;
    return events(...args);
  };
  const followers = await Promise.all(Array.from({ length: 200 }, () => follow()));
  for (const n of [1, 2, 3]) await tell(n);
  await expect.poll(() => followers.every(({ seen }) => seen.length === 3)).toBe(true);
  expect(reads).toBeLessThan(10);
  await feeds.close();
});

it('reads on after the store was out of reach, for those at the end and those behind', async () => {
  const { store, feeds, tell, follow } = open();
  await tell(1);
  const live = await follow();
  const events = store.events.bind(store);
  let failures = 0;
  store.events = (...args) => {
    failures += 1;
    return failures <= 2 ? Promise.reject(new Error('out of reach')) : events(...args);
  };
  const late = await follow(0);
  await tell(2);
  await expect.poll(() => late.seen, { timeout: 5_000 }).toEqual([1, 2]);
  await expect.poll(() => live.seen, { timeout: 5_000 }).toEqual([2]);
  expect(failures).toBeGreaterThan(2);
  await feeds.close();
});

it('delivers nothing after it was stopped, and stops watching without followers', async () => {
  const { feeds, tell, follow } = open();
  const [one, two] = [await follow(), await follow()];
  await tell(1);
  await expect.poll(() => [...one.seen, ...two.seen]).toEqual([1, 1]);
  one.following.stop();
  await tell(2);
  await expect.poll(() => two.seen).toEqual([1, 2]);
  expect(one.seen).toEqual([1]);
  two.following.stop();
  await expect.poll(() => feeds.size).toBe(0);
  const again = await follow(2);
  await tell(3);
  await expect.poll(() => again.seen).toEqual([3]);
  await feeds.close();
});

it('keeps the others going when one follower fails', async () => {
  const { feeds, tell, follow } = open();
  const well = await follow();
  let tries = 0;
  await feeds.follow('p', {
    backlog: 10,
    deliver: () => {
      tries += 1;
      throw new Error('gone');
    },
    gap: () => {},
  });
  await tell(1);
  await tell(2);
  await expect.poll(() => well.seen).toEqual([1, 2]);
  expect(tries).toBe(1);
  await feeds.close();
});

it('tells of a gap when the partition was dropped, and follows the new one', async () => {
  const { store, feeds, tell, follow } = open();
  for (const n of [1, 2, 3]) await tell(n);
  const follower = await follow();
  await store.drop('p');
  await tell(4);
  await expect.poll(() => follower.seen.length).toBeGreaterThan(0);
  await tell(5);
  await expect.poll(() => follower.seen.at(-1)).toBe(5);
  expect(String(follower.seen[0])).toMatch(/^gap/);
  await feeds.close();
});

it('does not let a follower begin when the store is out of reach, and forgets about it', async () => {
  const { store, feeds, follow } = open();
  const watch = store.watch.bind(store);
  store.watch = () => Promise.reject(new Error('out of reach'));
  await expect(follow()).rejects.toThrow('out of reach');
  await expect.poll(() => feeds.size).toBe(0);
  store.watch = watch;
  await follow();
  await feeds.close();
});
