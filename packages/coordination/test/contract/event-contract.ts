import { expect, it } from 'vitest';
import type { StoreScenario } from './scenario.ts';

export function eventContract(scenario: () => StoreScenario): void {
  it('keeps the events of commits in order and reads on from a cursor', async () => {
    const { store } = scenario();
    for (const n of [1, 2, 3]) await scenario().put('a', n, { event: { n } });
    await scenario().put('a', 4);
    const first = await store.events('p', 0, 2);
    expect(first.events.map(({ version, event }) => [version, event])).toEqual([
      [1, { n: 1 }],
      [2, { n: 2 }],
    ]);
    expect(first).toMatchObject({ cursor: 2, gap: false });
    const rest = await store.events('p', first.cursor, 10);
    expect(rest.events.map(({ event }) => event)).toEqual([{ n: 3 }]);
    expect(rest.cursor).toBe(4);
    expect(await store.events('p', 4, 10)).toEqual({ events: [], cursor: 4, gap: false });
  });

  it('reports a gap when events were trimmed, and only then', async () => {
    const { store, subject } = scenario();
    const last = subject.keepsEvents + 2;
    await scenario().put('a', 0);
    await Promise.all(
      Array.from({ length: subject.keepsEvents + 1 }, (_, n) =>
        scenario().put('a', n, { event: n }),
      ),
    );
    const from = async (after: number) => {
      const { events, gap } = await store.events('p', after, last);
      return { first: events[0]?.version, gap };
    };
    expect(await from(0)).toEqual({ first: 3, gap: true });
    expect(await from(1)).toEqual({ first: 3, gap: true });
    expect(await from(2)).toEqual({ first: 3, gap: false });
    expect(await from(last)).toEqual({ first: undefined, gap: false });
  });

  it('keeps no more bytes of events than it may, but always the newest', async () => {
    const { store, subject } = scenario();
    const tell = (bytes: number) => scenario().put('a', 0, { event: 'é'.repeat(bytes / 2 - 1) });
    const kept = async () =>
      (await store.events('p', 0, 1_000)).events.map(({ version }) => version);
    const quarter = Math.floor(subject.keepsEventBytes / 8) * 2;
    for (let n = 1; n <= 4; n += 1) await tell(quarter);
    expect(await kept()).toEqual([1, 2, 3, 4]);
    await tell(quarter);
    expect(await kept()).toEqual([2, 3, 4, 5]);
    expect(await store.events('p', 1, 1)).toMatchObject({ gap: false });
    await tell(2 * quarter);
    expect(await kept()).toEqual([4, 5, 6]);
    expect(await store.events('p', 2, 1)).toMatchObject({ gap: true });
    await tell(8 * quarter);
    expect(await kept()).toEqual([7]);
    await tell(quarter);
    expect(await kept()).toEqual([8]);
    expect(await store.events('p', 7, 1)).toMatchObject({ gap: false });
  });

  it('calls a cursor that the partition never reached a gap', async () => {
    await scenario().put('a', 1, { event: 1 });
    expect(await scenario().store.events('p', 5, 10)).toEqual({ events: [], cursor: 1, gap: true });
  });

  it('stamps events with times that do not step back', async () => {
    await scenario().put('a', 1, { event: 1 });
    await scenario().subject.advance(50);
    await scenario().put('a', 2, { event: 2 });
    const [first, second] = await scenario().events();
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(50);
  });

  it('notifies watchers of commits with an event, until they stop', async () => {
    const seen: number[] = [];
    const stop = await scenario().store.watch('p', (version) => seen.push(version));
    await scenario().put('a', 1, { event: 'first' });
    await expect.poll(() => seen.at(-1)).toBe(1);
    await stop();
    await scenario().put('a', 2, { event: 'second' });
    await scenario().put('b', 2);
    expect(seen.at(-1)).toBe(1);
  });

  it('notifies each watcher of its own partition only, many at once', async () => {
    const { store } = scenario();
    const partitions = Array.from({ length: 20 }, (_, n) => `watched-${n}`);
    const seen = new Map<string, number>();
    for (const partition of partitions) {
      await store.watch(partition, (version) => seen.set(partition, version));
    }
    const writes = [{ kind: 'increment', key: 'n', by: 1 }] as const;
    for (const partition of partitions.slice(1))
      await store.commit(partition, { writes, event: 1 });
    await expect.poll(() => [...seen.keys()].sort()).toEqual(partitions.slice(1).sort());
  });

  it('notifies a watcher when the partition is recreated', async () => {
    const { store } = scenario();
    for (const n of [1, 2, 3]) await scenario().put('a', n, { event: n });
    const seen: number[] = [];
    await store.watch('p', (version) => seen.push(version));
    await store.drop('p');
    await scenario().put('a', 1, { event: 'new' });
    await expect.poll(() => seen).toContain(1);
  });
}
