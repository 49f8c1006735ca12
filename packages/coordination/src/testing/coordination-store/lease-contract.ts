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

  it('breaks a lease over the head of its holder, and says so', async () => {
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
