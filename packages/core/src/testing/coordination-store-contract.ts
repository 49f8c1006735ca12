// What every coordination store must do.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Commit, CoordinationStore, LeaseMode } from '../ports/store.ts';

export interface CoordinationStoreSubject {
  /** Empty at first; keeps the events of at least 100 commits. */
  readonly store: CoordinationStore;
  /** Lets this much of the store's time pass. */
  advance(ms: number): Promise<void>;
  /** Frees what the test made; the contract closes the store itself. */
  close(): Promise<void>;
}

export function coordinationStoreContract(
  name: string,
  open: () => Promise<CoordinationStoreSubject>,
): void {
  describe(`coordination store contract: ${name}`, () => {
    let subject: CoordinationStoreSubject;
    let store: CoordinationStore;
    beforeEach(async () => {
      subject = await open();
      store = subject.store;
    });
    afterEach(async () => {
      await store.close();
      await subject.close();
    });

    const put = (key: string, value: number | string, more: Partial<Commit> = {}) =>
      store.commit('p', { writes: [{ kind: 'put', key, value }], ...more });
    const values = async (keys?: string[]) => {
      const { entries } = await store.read('p', keys);
      return Object.fromEntries([...entries].map(([key, { value }]) => [key, value]));
    };
    const acquire = async (holder: string, mode: LeaseMode = 'exclusive', resource = 'context') => {
      const answer = await store.acquire('p', { resource, holder, mode, ttlMs: 1000 });
      return 'lease' in answer ? answer.lease : undefined;
    };

    it('starts every partition empty at version 0, and keeps partitions apart', async () => {
      expect(await store.read('p')).toEqual({ version: 0, entries: new Map() });
      await put('a', 1);
      expect((await store.read('q')).version).toBe(0);
    });

    it('raises the version by one for each commit and stamps the keys it wrote', async () => {
      expect(await put('a', 1)).toEqual({ ok: true, version: 1 });
      expect(await put('b', 2)).toEqual({ ok: true, version: 2 });
      const { version, entries } = await store.read('p');
      expect(version).toBe(2);
      expect(entries.get('a')).toEqual({ value: 1, version: 1 });
      expect(await values(['b', 'none'])).toEqual({ b: 2 });
    });

    it('applies several writes whole or not at all', async () => {
      await put('text', 'word');
      const writes: Commit['writes'] = [
        { kind: 'put', key: 'a', value: 1 },
        { kind: 'increment', key: 'text', by: 1 },
      ];
      expect(await store.commit('p', { writes })).toMatchObject({
        ok: false,
        reason: 'not_a_number',
      });
      expect(await values()).toEqual({ text: 'word' });
      await store.commit('p', {
        writes: [
          { kind: 'delete', key: 'text' },
          { kind: 'increment', key: 'count', by: 2 },
        ],
      });
      expect(await values()).toEqual({ count: 2 });
    });

    it('loses no increment of many at once', async () => {
      const increment: Commit = { writes: [{ kind: 'increment', key: 'n', by: 1 }] };
      await Promise.all(Array.from({ length: 50 }, () => store.commit('p', increment)));
      expect(await values()).toEqual({ n: 50 });
      expect((await store.read('p')).version).toBe(50);
    });

    it('refuses a commit on another version than it expects, with what is there', async () => {
      await put('a', 1);
      expect(await put('a', 2, { ifVersion: 0 })).toMatchObject({
        ok: false,
        reason: 'conflict',
        current: { version: 1, entries: new Map([['a', { value: 1, version: 1 }]]) },
      });
      expect(await put('a', 2, { ifVersion: 1 })).toEqual({ ok: true, version: 2 });
      expect(await put('a', 3, { ifKeys: new Map([['a', 1]]) })).toMatchObject({ ok: false });
      expect(await put('b', 3, { ifKeys: new Map([['b', 0]]) })).toEqual({ ok: true, version: 3 });
      expect(await values()).toEqual({ a: 2, b: 3 });
    });

    it('forgets a key when its time is over', async () => {
      await store.commit('p', { writes: [{ kind: 'put', key: 'a', value: 1, ttlMs: 1000 }] });
      expect(await values()).toEqual({ a: 1 });
      await subject.advance(1500);
      expect(await values()).toEqual({});
    });

    it('keeps the events of commits in order and reads on from a cursor', async () => {
      for (const n of [1, 2, 3]) await put('a', n, { event: { n } });
      const first = await store.events('p', 0, 2);
      expect(first.events.map(({ version, event }) => [version, event])).toEqual([
        [1, { n: 1 }],
        [2, { n: 2 }],
      ]);
      expect(first).toMatchObject({ cursor: 2, gap: false });
      const rest = await store.events('p', first.cursor, 10);
      expect(rest.events.map(({ event }) => event)).toEqual([{ n: 3 }]);
      expect((await store.events('p', rest.cursor, 10)).events).toEqual([]);
    });

    it('tells watchers of commits with an event, until they stop', async () => {
      const seen: number[] = [];
      const stop = await store.watch('p', (version) => seen.push(version));
      await put('a', 1, { event: 'first' });
      await expect.poll(() => seen.at(-1)).toBe(1);
      await stop();
      await put('a', 2, { event: 'second' });
      await put('b', 2);
      expect(seen.at(-1)).toBe(1);
    });

    it('grants an exclusive lease to one holder and says who stands in the way', async () => {
      const lease = await acquire('alice');
      expect(lease).toMatchObject({ holder: 'alice', token: 1, mode: 'exclusive' });
      const request = { resource: 'context', holder: 'bob', mode: 'shared', ttlMs: 1000 } as const;
      expect(await store.acquire('p', request)).toEqual({ heldBy: [lease] });
      expect(await acquire('bob', 'exclusive', 'other')).toMatchObject({ holder: 'bob' });
    });

    it('grants one of many at once', async () => {
      const granted = await Promise.all(
        Array.from({ length: 20 }, (_, n) => acquire(`agent-${n}`)),
      );
      expect(granted.filter(Boolean)).toHaveLength(1);
    });

    it('shares a lease among readers and keeps writers out', async () => {
      const [first, second] = [await acquire('a', 'shared'), await acquire('b', 'shared')];
      expect(second?.token).toBeGreaterThan(first?.token ?? 0);
      expect(await acquire('c')).toBeUndefined();
      expect(await store.leases('p', 'context')).toHaveLength(2);
    });

    it('releases by exact token only', async () => {
      const lease = await acquire('alice');
      if (!lease) return expect.fail('not granted');
      expect(await store.release('p', { ...lease, token: lease.token + 1 })).toBe(false);
      expect(await store.release('p', lease)).toBe(true);
      expect(await store.release('p', lease)).toBe(false);
      expect((await acquire('bob'))?.token).toBeGreaterThan(lease.token);
    });

    it('lets a lease expire unless it is renewed', async () => {
      const lease = await acquire('alice');
      if (!lease) return expect.fail('not granted');
      await subject.advance(700);
      expect(await store.renew('p', lease, 1000)).toMatchObject({ token: lease.token });
      await subject.advance(700);
      expect(await acquire('bob')).toBeUndefined();
      await subject.advance(700);
      expect(await store.renew('p', lease, 1000)).toBeUndefined();
      expect((await acquire('bob'))?.token).toBeGreaterThan(lease.token);
    });

    it('checks the fencing token inside the write', async () => {
      const stale = await acquire('alice');
      const fence = { resource: 'context', token: stale?.token ?? 0 };
      expect(await put('a', 'by alice', { fence })).toMatchObject({ ok: true });
      await subject.advance(1500);
      expect(await put('a', 'late', { fence })).toEqual({ ok: false, reason: 'fenced' });
      const fresh = await acquire('bob');
      expect(await put('a', 'late', { fence })).toEqual({ ok: false, reason: 'fenced' });
      const fresher = { resource: 'context', token: fresh?.token ?? 0 };
      expect(await put('a', 'by bob', { fence: fresher })).toMatchObject({ ok: true });
      expect(await values()).toEqual({ a: 'by bob' });
    });

    it('does not let a shared lease write', async () => {
      const lease = await acquire('reader', 'shared');
      const fence = { resource: 'context', token: lease?.token ?? 0 };
      expect(await put('a', 1, { fence })).toEqual({ ok: false, reason: 'fenced' });
    });

    it('forgets a dropped partition', async () => {
      await put('a', 1, { event: 'told' });
      await acquire('alice');
      await store.drop('p');
      expect(await store.read('p')).toEqual({ version: 0, entries: new Map() });
      expect((await store.events('p', 0, 10)).events).toEqual([]);
      expect(await store.leases('p')).toEqual([]);
    });
  });
}
