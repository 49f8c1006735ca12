import { silentLog } from '@starloom/core';
import { expect, it } from 'vitest';
import type { StoredEvent } from '../src/coordination-store.ts';
import { FeedReader } from '../src/feed/feed-reader.ts';

const TURNS = 12;

it('delivers each event once, in whichever turn of the loop it is offered', async () => {
  for (let first = 0; first < TURNS; first += 1) {
    for (let second = 0; second < TURNS; second += 1) {
      const seen = await offerAfter([first, second]);
      expect({ first, second, seen }).toEqual({ first, second, seen: [1, 2, 3] });
    }
  }
});

/** What a slow follower sees when event 1 is there and the others come so many turns later. */
async function offerAfter(turns: readonly number[]): Promise<readonly number[]> {
  const events = [toEvent(1)];
  const seen: number[] = [];
  const source = {
    get head() {
      return events.length;
    },
    next: async (cursor: number) => ({ events: events.slice(cursor), cursor: events.length }),
  };
  const reader = new FeedReader(
    {
      after: 0,
      backlog: 100,
      deliver: async ({ version }) => {
        seen.push(version);
        await pass(3);
      },
      gap: () => {},
    },
    { source, log: silentLog, onEnd: () => {} },
  );
  const running = reader.run();
  for (const [at, count] of turns.entries()) {
    await pass(count);
    const event = toEvent(at + 2);
    events.push(event);
    reader.offer(event);
  }
  await running;
  await pass(10 * TURNS);
  return seen;
}

function toEvent(version: number): StoredEvent {
  return { version, event: version, at: 0, size: 1 };
}

async function pass(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await undefined;
}
