import { expect, it } from 'vitest';
import type { Commit } from '../../coordination-store.ts';
import type { StoreScenario } from './scenario.ts';

export function idempotencyContract(scenario: () => StoreScenario): void {
  const increment: Commit = {
    writes: [{ kind: 'increment', key: 'n', by: 1 }],
    event: 'counted',
    idempotency: { key: 'once', request: 'increment' },
  };

  it('applies a repeated commit once and answers as the first time', async () => {
    const { store } = scenario();
    const first = await store.commit('p', increment);
    await scenario().put('other', 1);
    expect(await store.commit('p', increment)).toEqual(first);
    expect(await store.commit('p', { ...increment, ifVersion: 99 })).toEqual(first);
    expect(await scenario().values()).toEqual({ n: 1, other: 1 });
    expect(await scenario().published()).toEqual(['counted']);
  });

  it('refuses another request under a key that is taken, and does nothing', async () => {
    const { store } = scenario();
    await store.commit('p', increment);
    const other = { ...increment, idempotency: { key: 'once', request: 'other' } };
    expect(await store.commit('p', other)).toEqual({ ok: false, reason: 'reused' });
    expect(await scenario().values()).toEqual({ n: 1 });
    const lock = { resource: 'context', holder: 'alice' };
    for (const request of [increment, other]) {
      const reused = await store.acquireAndCommit('p', lock, request);
      expect(reused).toEqual({ ok: false, reason: 'reused' });
    }
    expect(await scenario().values()).toEqual({ n: 1 });
    await scenario().acquire('alice', { idempotency: { key: 'once', request: 'first' } });
    const second = { resource: 'second', idempotency: { key: 'once', request: 'second' } };
    expect(await scenario().request('alice', second)).toEqual({ reused: true });
    expect(await store.leases('p', 'second')).toEqual([]);
    expect(await scenario().published()).toEqual(['counted']);
  });

  it('keeps the key of a lock that is gone for the request that had it', async () => {
    const { store } = scenario();
    const idempotency = { key: 'once', request: 'first' };
    await store.release('p', await scenario().acquire('alice', { idempotency }));
    await scenario().acquire('bob');
    expect(await scenario().request('alice', { idempotency })).toHaveProperty('heldBy');
    const other = { resource: 'second', idempotency: { key: 'once', request: 'second' } };
    expect(await scenario().request('alice', other)).toEqual({ reused: true });
  });

  it('applies one of many at once', async () => {
    const { store } = scenario();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => store.commit('p', increment)),
    );
    expect(new Set(answers.map((answer) => answer.ok && answer.version))).toEqual(new Set([1]));
    expect(await scenario().values()).toEqual({ n: 1 });
  });

  it('keeps keys apart by partition, and forgets them with it', async () => {
    const { store } = scenario();
    await store.commit('p', increment);
    expect(await store.commit('q', increment)).toEqual({ ok: true, version: 1 });
    await store.drop('p');
    await scenario().put('n', 10);
    await store.commit('p', increment);
    expect(await scenario().values()).toEqual({ n: 11 });
  });

  it('judges a refused commit again', async () => {
    const refused = { ...increment, ifVersion: 1 };
    expect(await scenario().store.commit('p', refused)).toMatchObject({ reason: 'conflict' });
    await scenario().put('other', 1);
    expect(await scenario().store.commit('p', refused)).toEqual({ ok: true, version: 2 });
  });

  it('repeats an update under a lock only in its answer', async () => {
    const { store } = scenario();
    const request = { resource: 'context', holder: 'alice' };
    const first = await store.acquireAndCommit('p', request, increment);
    await scenario().acquire('bob');
    expect(await store.acquireAndCommit('p', request, increment)).toEqual(first);
    expect(await scenario().values()).toEqual({ n: 1 });
  });

  it('gives a repeated request another lease or place when the first is gone', async () => {
    const keyed = (key: string) => ({ idempotency: { key, request: 'lock' } });
    const first = await scenario().acquire('alice', keyed('a'));
    const place = await scenario().queue('bob', keyed('b'));
    await scenario().store.cancelWait('p', place.ticket);
    const second = await scenario().queue('bob', keyed('b'));
    expect(second.ticket).not.toBe(place.ticket);
    await scenario().store.release('p', first);
    expect(await scenario().queue('bob', keyed('b'))).toEqual(second);
    const granted = await scenario().store.leases('p', 'context');
    expect(granted).toMatchObject([{ holder: 'bob', ticket: second.ticket }]);
    for (const lease of granted) await scenario().store.release('p', lease);
    const again = await scenario().acquire('alice', keyed('a'));
    expect(again.token).toBeGreaterThan(first.token);
    expect(await scenario().acquire('alice', keyed('a'))).toEqual(again);
  });

  it('gives a repeated request the lease or the place it got before', async () => {
    const keyed = (key: string) => ({ idempotency: { key, request: 'lock' } });
    const once = keyed('once');
    const lease = await scenario().acquire('alice', once);
    expect(await scenario().acquire('alice', once)).toEqual(lease);
    const place = await scenario().queue('bob', keyed('bob'));
    expect(await scenario().queue('bob', keyed('bob'))).toEqual(place);
    expect(await scenario().waiters()).toEqual(['bob']);
    const another = { ...keyed('another'), waitMs: 0 };
    expect(await scenario().request('carol', another)).toEqual({ heldBy: [lease] });
    await scenario().store.cancelWait('p', place.ticket);
    await scenario().store.release('p', lease);
    expect(await scenario().acquire('carol', another)).toMatchObject({ holder: 'carol' });
  });
}
