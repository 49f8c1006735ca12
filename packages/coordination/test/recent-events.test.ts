import { expect, it } from 'vitest';
import { RecentEvents } from '../src/feed/event-feed.ts';

const MEGABYTE = 1024 * 1024;

/** Versions `first` to `last`, each of that size. */
function page(first: number, last: number, size = 10) {
  const events = Array.from({ length: last - first + 1 }, (_, index) => {
    const version = first + index;
    return { version, at: 0, event: version, size };
  });
  return { events, cursor: last, gap: false };
}

const versions = (recent: RecentEvents, after: number) =>
  recent.after(after)?.map(({ version }) => version);

it('has what comes after a cursor, from where it began', () => {
  const recent = new RecentEvents(10);
  expect(versions(recent, 10)).toEqual([]);
  recent.add(page(11, 13));
  expect(versions(recent, 9)).toBeUndefined();
  expect(versions(recent, 10)).toEqual([11, 12, 13]);
  expect(versions(recent, 12)).toEqual([13]);
  expect(versions(recent, 13)).toEqual([]);
});

it('keeps a bounded number of events', () => {
  const recent = new RecentEvents(0);
  for (let first = 1; first < 3_000; first += 500) recent.add(page(first, first + 499));
  const oldest = 3_000 - 1_024;
  expect(versions(recent, oldest)).toHaveLength(1_024);
  expect(versions(recent, oldest - 1)).toBeUndefined();
});

it('keeps a bounded size of events, so that large ones do not fill the memory', () => {
  const recent = new RecentEvents(0);
  for (let version = 1; version <= 20; version += 1) recent.add(page(version, version, MEGABYTE));
  expect(versions(recent, 16)).toEqual([17, 18, 19, 20]);
  expect(versions(recent, 15)).toBeUndefined();
  recent.add(page(21, 21, 100 * MEGABYTE));
  expect(versions(recent, 20)).toBeUndefined();
  expect(versions(recent, 21)).toEqual([]);
  recent.add(page(22, 23));
  expect(versions(recent, 21)).toEqual([22, 23]);
});

it('starts again after a gap', () => {
  const recent = new RecentEvents(0);
  recent.add(page(1, 3));
  recent.add({ events: [], cursor: 50, gap: true });
  expect(versions(recent, 3)).toBeUndefined();
  expect(versions(recent, 50)).toEqual([]);
});
