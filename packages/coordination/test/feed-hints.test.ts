import { silentLog } from '@starloom/core';
import { expect, it } from 'vitest';
import type { StoredEvent } from '../src/coordination-store.ts';
import { EventFeeds } from '../src/feed/event-feed.ts';
import { MemoryCoordinationStore } from '../src/testing.ts';

/** A store that hints at new events only when it is told to, as often as it is told to. */
function open(keepEvents = 10_000) {
  const store = new MemoryCoordinationStore({ keepEvents });
  const feeds = new EventFeeds({ store, log: silentLog });
  const hints = new Set<(version: number) => void>();
  store.watch = async (_, listener) => {
    hints.add(listener);
    return async () => void hints.delete(listener);
  };
  const tell = async (from: number, to: number) => {
    for (let n = from; n <= to; n += 1) await store.commit('p', { writes: [], event: n });
  };
  const hint = () => {
    for (const listener of hints) listener(0);
  };
  const follow = async (isFor?: (event: StoredEvent) => boolean) => {
    const seen: unknown[] = [];
    await feeds.follow('p', {
      isFor,
      backlog: 10_000,
      deliver: ({ event }) => void seen.push(event),
      gap: (cursor) => void seen.push(`gap to ${cursor}`),
    });
    return seen;
  };
  return { feeds, tell, hint, follow };
}

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

it('delivers a burst of more than a page after a single hint', async () => {
  const { feeds, tell, hint, follow } = open();
  const followers = [await follow(), await follow(() => true)];
  await tell(1, 1_200);
  expect(followers).toEqual([[], []]);
  hint();
  for (const seen of followers) await expect.poll(() => seen).toEqual(numbers(1, 1_200));
  await feeds.close();
});

it('delivers a burst of exactly two pages, and what comes after it', async () => {
  const { feeds, tell, hint, follow } = open();
  const seen = await follow();
  await tell(1, 1_000);
  hint();
  await expect.poll(() => seen).toEqual(numbers(1, 1_000));
  await tell(1_001, 1_001);
  hint();
  await expect.poll(() => seen.at(-1)).toBe(1_001);
  expect(seen).toHaveLength(1_001);
  await feeds.close();
});

it('tells every follower of a gap, whatever each is for, and goes on after it', async () => {
  const { feeds, tell, hint, follow } = open(10);
  const isFor = ({ event }: StoredEvent) => event !== 25;
  const followers = [
    await follow(),
    await follow(),
    await follow(isFor),
    await follow(() => false),
  ];
  await tell(1, 20);
  hint();
  for (const seen of followers) await expect.poll(() => seen).toEqual(['gap to 20']);
  await tell(21, 26);
  hint();
  const [one, two, some, none] = followers;
  await expect.poll(() => one).toEqual(['gap to 20', ...numbers(21, 26)]);
  await expect.poll(() => two).toEqual(['gap to 20', ...numbers(21, 26)]);
  await expect.poll(() => some).toEqual(['gap to 20', 21, 22, 23, 24, 26]);
  expect(none).toEqual(['gap to 20']);
  await feeds.close();
});
