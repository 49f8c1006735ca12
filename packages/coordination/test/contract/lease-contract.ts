import type { Json } from '@starloom/core';
import { expect, it } from 'vitest';
import type { StoreScenario } from './scenario.ts';

export function leaseContract(scenario: () => StoreScenario): void {
  it('grants an exclusive lease to one holder and says who stands in the way', async () => {
    const lease = await scenario().acquire('alice');
    expect(lease).toMatchObject({ resource: 'context', holder: 'alice', mode: 'exclusive' });
    expect(await scenario().request('bob', { mode: 'shared' })).toEqual({ heldBy: [lease] });
    expect(await scenario().acquire('bob', { resource: 'other' })).toMatchObject({ holder: 'bob' });
    expect(await scenario().store.leases('p', 'context')).toEqual([lease]);
    expect(await scenario().holders()).toHaveLength(2);
  });

  it('grants one of many at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => scenario().request(`agent-${n}`)),
    );
    expect(answers.filter((answer) => 'lease' in answer)).toHaveLength(1);
  });

  it('shares a lease among readers and keeps writers out', async () => {
    const first = await scenario().acquire('a', { mode: 'shared' });
    const second = await scenario().acquire('b', { mode: 'shared' });
    expect(second.token).toBeGreaterThan(first.token);
    expect(await scenario().request('c')).toEqual({ heldBy: [first, second] });
  });

  it('releases by exact token only', async () => {
    const { store } = scenario();
    const lease = await scenario().acquire('alice');
    const nothing = { released: false, granted: [] };
    expect(await store.release('p', { ...lease, token: lease.token + 1 })).toEqual(nothing);
    expect(await store.release('p', { ...lease, resource: 'contex' })).toEqual(nothing);
    expect(await store.release('p', lease)).toEqual({ released: true, granted: [] });
    expect(await store.release('p', lease)).toEqual(nothing);
    expect((await scenario().acquire('bob')).token).toBeGreaterThan(lease.token);
  });

  it('lets a lease expire unless it is renewed, and says that it is lost', async () => {
    const { store, subject } = scenario();
    const lease = await scenario().acquire('alice');
    await subject.advance(700);
    const renewed = await store.renew('p', lease, 1000);
    expect(renewed).toEqual({ ...lease, expiresAt: expect.any(Number) });
    expect(renewed?.expiresAt).toBeGreaterThan(lease.expiresAt);
    await subject.advance(700);
    expect(await scenario().request('bob')).toEqual({ heldBy: [renewed] });
    await subject.advance(700);
    expect(await scenario().holders()).toEqual([]);
    expect(await store.renew('p', lease, 1000)).toBeUndefined();
    const { resource, holder, token, mode } = lease;
    expect(await scenario().published()).toEqual([
      { type: 'lock.lost', resource, holder, token, mode, reason: 'expired' },
    ]);
    expect((await scenario().acquire('bob')).token).toBeGreaterThan(lease.token);
  });

  it('checks the fencing token inside the write', async () => {
    const stale = await scenario().acquire('alice');
    const late = { fence: stale };
    expect(await scenario().put('a', 'by alice', late)).toMatchObject({ ok: true });
    await scenario().subject.advance(1500);
    expect(await scenario().put('a', 'late', late)).toEqual({ ok: false, reason: 'fenced' });
    const fresh = await scenario().acquire('bob');
    expect(await scenario().put('a', 'late', late)).toEqual({ ok: false, reason: 'fenced' });
    expect(await scenario().put('a', 'by bob', { fence: fresh })).toMatchObject({ ok: true });
    expect(await scenario().values()).toEqual({ a: 'by bob' });
    const foreign = { resource: 'other', token: fresh.token };
    expect(await scenario().put('a', 'x', { fence: foreign })).toMatchObject({ ok: false });
  });

  it('does not let a shared lease write', async () => {
    const fence = await scenario().acquire('reader', { mode: 'shared' });
    expect(await scenario().put('a', 1, { fence })).toEqual({ ok: false, reason: 'fenced' });
  });

  it('ends a lease forcibly, and the log says so', async () => {
    const { store } = scenario();
    const lease = await scenario().acquire('alice');
    expect(await store.breakLease('p', 'context', lease.token + 1)).toMatchObject({
      released: false,
    });
    expect(await store.breakLease('p', 'context', lease.token)).toEqual({
      released: true,
      granted: [],
    });
    expect(await scenario().put('a', 1, { fence: lease })).toEqual({ ok: false, reason: 'fenced' });
    const { resource, holder, token, mode } = lease;
    expect(await scenario().published()).toEqual([
      { type: 'lock.lost', resource, holder, token, mode, reason: 'broken' },
    ]);
  });

  it('breaks all leases on a resource when no token is named', async () => {
    for (const reader of ['a', 'b']) await scenario().acquire(reader, { mode: 'shared' });
    await scenario().acquire('c', { resource: 'other' });
    await scenario().store.breakLease('p', 'context');
    expect(await scenario().holders()).toEqual(['c']);
    expect(await scenario().published()).toMatchObject([{ holder: 'a' }, { holder: 'b' }]);
  });

  it('updates under a lock in one step, and leaves the lock free', async () => {
    const { store } = scenario();
    const request = { resource: 'context', holder: 'alice' };
    const writes = [{ kind: 'increment', key: 'n', by: 1 }] as const;
    const before = await scenario().acquire('alice');
    await store.release('p', before);
    const answer = await store.acquireAndCommit('p', request, { writes, event: 'granted' });
    expect(answer).toEqual({ ok: true, version: 1, token: expect.any(Number) });
    expect('token' in answer && answer.token).toBeGreaterThan(before.token);
    expect(await scenario().holders()).toEqual([]);
    expect(await scenario().published()).toEqual(['granted']);
    expect(await store.acquireAndCommit('p', request, { writes, ifVersion: 0 })).toMatchObject({
      ok: false,
      reason: 'conflict',
      current: { version: 1 },
    });
    const lease = await scenario().acquire('bob', { mode: 'shared' });
    const held = { ok: false, reason: 'held', heldBy: [lease] };
    expect(await store.acquireAndCommit('p', request, { writes })).toEqual(held);
    expect(await scenario().values()).toEqual({ n: 1 });
  });
}

export function expiryContract(scenario: () => StoreScenario): void {
  const put = (key: string, ttlMs: number, onExpire?: Json) =>
    scenario().store.commit('p', { writes: [{ kind: 'put', key, value: 1, ttlMs, onExpire }] });

  it('forgets a key when its time is over, and counts it as absent', async () => {
    await put('a', 1000);
    expect(await scenario().values()).toEqual({ a: 1 });
    await scenario().subject.advance(1500);
    expect(await scenario().values()).toEqual({});
    expect(await scenario().values(['a'])).toEqual({});
    const ifKeys = new Map([['a', 0]]);
    expect(await scenario().put('a', 2, { ifKeys })).toEqual({ ok: true, version: 2 });
  });

  it('appends the events of expired keys in the order of their times', async () => {
    await put('silent', 400);
    await put('later', 500, { gone: 'later' });
    await put('first', 300, { gone: 'first' });
    await put('stays', 60_000, { gone: 'stays' });
    await scenario().subject.advance(700);
    await scenario().store.tick();
    await scenario().store.tick();
    const events = await scenario().events();
    expect(events.map(({ version, event }) => [version, event])).toEqual([
      [5, { gone: 'first' }],
      [6, { gone: 'later' }],
    ]);
    expect((await scenario().store.read('p')).version).toBe(6);
  });

  it('appends events of expiry before later ones, with or without a tick', async () => {
    await put('a', 300, 'a is gone');
    await scenario().subject.advance(500);
    expect(await scenario().put('b', 1, { event: 'b is there' })).toEqual({ ok: true, version: 3 });
    expect(await scenario().published()).toEqual(['a is gone', 'b is there']);
  });

  it('restarts with each write of the key, and ends with its deletion', async () => {
    await put('renewed', 500, 'renewed is gone');
    await put('kept', 500, 'kept is gone');
    await put('deleted', 500, 'deleted is gone');
    await scenario().subject.advance(300);
    await put('renewed', 60_000, 'renewed is gone');
    await scenario().put('kept', 'for ever');
    await scenario().store.commit('p', { writes: [{ kind: 'delete', key: 'deleted' }] });
    await scenario().subject.advance(400);
    await scenario().store.tick();
    expect(await scenario().published()).toEqual([]);
    expect(await scenario().values()).toEqual({ renewed: 1, kept: 'for ever' });
  });

  it('leaves a key its time when it is incremented', async () => {
    await put('n', 1000, 'n is gone');
    await scenario().store.commit('p', { writes: [{ kind: 'increment', key: 'n', by: 1 }] });
    expect(await scenario().values()).toEqual({ n: 2 });
    await scenario().subject.advance(1500);
    await scenario().store.tick();
    expect(await scenario().values()).toEqual({});
    expect(await scenario().published()).toEqual(['n is gone']);
  });

  it('wakes watchers of what time did', async () => {
    const seen: number[] = [];
    await scenario().store.watch('p', (version) => seen.push(version));
    await put('a', 300, 'a is gone');
    await scenario().subject.advance(500);
    await scenario().store.tick();
    await expect.poll(() => seen.at(-1)).toBe(2);
  });

  it('forgets what was to expire when the partition is dropped', async () => {
    await put('a', 300, 'a is gone');
    await scenario().store.drop('p');
    await scenario().put('a', 'stays');
    await scenario().subject.advance(500);
    await scenario().store.tick();
    expect(await scenario().values()).toEqual({ a: 'stays' });
    expect(await scenario().published()).toEqual([]);
  });
}
