import { expect, it } from 'vitest';
import type { StoreScenario } from './scenario.ts';

export function queueContract(scenario: () => StoreScenario): void {
  it('queues a refused request that will wait, and grants it on release', async () => {
    const { store } = scenario();
    const lease = await scenario().acquire('alice');
    const { ticket, position } = await scenario().queue('bob', { ttlMs: 5000 });
    expect(position).toBe(1);
    expect(await scenario().holders()).toEqual(['alice']);
    const { granted } = await store.release('p', lease);
    expect(granted).toMatchObject([{ holder: 'bob', resource: 'context', ticket }]);
    expect(await store.leases('p')).toEqual(granted);
    const [bob] = granted;
    expect(bob?.token).toBeGreaterThan(lease.token);
    expect(await scenario().events()).toMatchObject([
      {
        version: 1,
        event: {
          type: 'lock.granted',
          resource: 'context',
          holder: 'bob',
          token: bob?.token,
          mode: 'exclusive',
          expires_at: bob?.expiresAt,
          ticket,
        },
      },
    ]);
    expect(await scenario().waiters()).toEqual([]);
    expect(await scenario().put('a', 1, { fence: bob })).toEqual({ ok: true, version: 2 });
  });

  it('names the circle that a place closed, and none while a wait can end', async () => {
    const { store } = scenario();
    const wait = { mode: 'exclusive', ttlMs: 5000, waitMs: 5000 } as const;
    const hold = async (resource: string, holder: string) => {
      const answer = await store.acquire('p', { ...wait, resource, holder });
      return 'lease' in answer ? answer.lease : expect.fail('not free');
    };
    const queue = async (resource: string, holder: string) => {
      const answer = await store.acquire('p', { ...wait, resource, holder });
      const { ticket } = 'queued' in answer ? answer.queued : expect.fail('free');
      return { ticket, holder };
    };
    await hold('x', 'a');
    const held = await hold('y', 'b');
    const passer = await queue('x', 'passer');
    const first = await queue('x', 'b');
    const last = await queue('y', 'a');
    expect(await store.deadlock('p', passer)).toBe(undefined);
    expect(await store.deadlock('p', first)).toBe(undefined);
    expect(await store.deadlock('p', last)).toEqual(['a', 'b']);
    expect(await store.deadlock('p', { ticket: 'unknown', holder: 'a' })).toBe(undefined);
    await store.release('p', held);
    expect(await store.deadlock('p', first)).toBe(undefined);
  });

  it('serves by priority, then in order of arrival', async () => {
    await scenario().acquire('holder');
    for (const [holder, priority] of [
      ['a', 0],
      ['b', 5],
      ['c', 0],
      ['d', 5],
      ['e', -1],
    ] as const) {
      await scenario().queue(holder, { priority });
    }
    expect((await scenario().queue('f', { priority: 1 })).position).toBe(3);
    expect(await scenario().waiters('context')).toEqual(['b', 'd', 'f', 'a', 'c', 'e']);
    const [first] = await scenario().store.waiting('p');
    expect(first).toMatchObject({ resource: 'context', mode: 'exclusive', position: 1 });
    expect(first?.until).toBe((first?.since ?? 0) + 10_000);
    expect(await scenario().waiters('other')).toEqual([]);
    const served: string[] = [];
    for (let count = 0; count < 6; count += 1) {
      await scenario().store.breakLease('p', 'context');
      served.push(...(await scenario().holders()));
    }
    expect(served).toEqual(['b', 'd', 'f', 'a', 'c', 'e']);
  });

  it('loses no waiter of many at once, and grants each exactly once', async () => {
    const { store } = scenario();
    const lease = await scenario().acquire('holder');
    const names = Array.from({ length: 20 }, (_, n) => `agent-${n}`);
    await Promise.all(names.map((name) => scenario().queue(name)));
    let [holding] = (await store.release('p', lease)).granted;
    const served: string[] = [];
    while (holding) {
      served.push(holding.holder);
      [holding] = (await store.release('p', holding)).granted;
    }
    expect(served.sort()).toEqual(names.sort());
  });

  it('grants neighbouring readers together, and never past a writer', async () => {
    const { store } = scenario();
    const lease = await scenario().acquire('holder');
    const shared = { mode: 'shared' } as const;
    await scenario().queue('r1', shared);
    await scenario().queue('r2', shared);
    await scenario().queue('w');
    await scenario().queue('r3', shared);
    expect((await store.release('p', lease)).granted).toMatchObject([
      { holder: 'r1' },
      { holder: 'r2' },
    ]);
    expect(await scenario().waiters()).toEqual(['w', 'r3']);
    expect((await scenario().events()).map(({ version }) => version)).toEqual([1, 2]);
  });

  it('lets no new request overtake a waiting one, except by priority', async () => {
    const reader = await scenario().acquire('reader', { mode: 'shared' });
    await scenario().queue('writer', { priority: 1 });
    const newcomer = { mode: 'shared', priority: 1 } as const;
    expect(await scenario().request('late', newcomer)).toEqual({ heldBy: [reader] });
    expect(await scenario().queue('late', newcomer)).toMatchObject({ position: 2 });
    await scenario().acquire('urgent', { mode: 'shared', priority: 2 });
    const writes = [{ kind: 'put', key: 'a', value: 1 }] as const;
    const request = { resource: 'context', holder: 'quick' };
    expect(await scenario().store.acquireAndCommit('p', request, { writes })).toMatchObject({
      reason: 'held',
    });
  });

  it('lets no agent overtake one that has waited for five seconds, whatever the priority', async () => {
    const long = { ttlMs: 60_000, waitMs: 60_000 };
    const shared = { ...long, mode: 'shared' } as const;
    const reader = await scenario().acquire('reader', shared);
    await scenario().queue('writer', { ...long, priority: -1 });
    const hurried = await scenario().acquire('hurried', { ...shared, priority: 1 });
    await scenario().queue('early', { ...long, priority: 1 });
    await scenario().subject.advance(5_000);
    const late = { ...shared, priority: 100 };
    expect(await scenario().request('late', { ...late, waitMs: 0 })).toEqual({
      heldBy: [reader, hurried],
    });
    expect((await scenario().queue('late', late)).position).toBe(3);
    expect((await scenario().queue('later', { ...late, priority: 101 })).position).toBe(3);
    expect(await scenario().waiters()).toEqual(['early', 'writer', 'later', 'late']);
    await scenario().store.breakLease('p', 'context');
    await scenario().store.breakLease('p', 'context');
    expect(await scenario().holders()).toEqual(['writer']);
  });

  it('grants a waiter when the lease expires', async () => {
    await scenario().acquire('alice');
    const { ticket } = await scenario().queue('bob');
    await scenario().subject.advance(1500);
    await scenario().store.tick();
    expect(await scenario().published()).toMatchObject([
      { type: 'lock.lost', holder: 'alice', reason: 'expired' },
      { type: 'lock.granted', holder: 'bob', ticket },
    ]);
    expect(await scenario().holders()).toEqual(['bob']);
  });

  it('grants no agent whose time to wait is over', async () => {
    const lease = await scenario().acquire('alice', { ttlMs: 60_000 });
    await scenario().queue('bob', { waitMs: 500 });
    const { ticket } = await scenario().queue('carol');
    await scenario().subject.advance(700);
    expect(await scenario().waiters()).toEqual(['carol']);
    expect(await scenario().store.waiting('p')).toMatchObject([{ position: 1, ticket }]);
    expect((await scenario().store.release('p', lease)).granted).toMatchObject([
      { holder: 'carol' },
    ]);
  });

  it('grants those behind a writer that gives up, in time or by word', async () => {
    const { store, subject } = scenario();
    const shared = { mode: 'shared', ttlMs: 60_000 } as const;
    await scenario().acquire('r1', shared);
    await scenario().queue('w1', { waitMs: 500 });
    const second = await scenario().queue('w2');
    const { ticket } = await scenario().queue('r2', shared);
    await subject.advance(700);
    await store.tick();
    expect(await scenario().holders()).toEqual(['r1']);
    expect(await store.cancelWait('p', second.ticket)).toBe(true);
    expect(await store.cancelWait('p', second.ticket)).toBe(false);
    expect(await store.cancelWait('p', ticket)).toBe(false);
    expect(await store.cancelWait('p', 'no such ticket')).toBe(false);
    expect(await scenario().holders()).toEqual(['r1', 'r2']);
    expect(await scenario().published()).toMatchObject([{ type: 'lock.granted', ticket }]);
  });

  it('grants once when many tick at once', async () => {
    await scenario().acquire('alice');
    for (const name of ['bob', 'carol']) await scenario().queue(name);
    await scenario().subject.advance(1500);
    await Promise.all(Array.from({ length: 10 }, () => scenario().store.tick()));
    expect(await scenario().published()).toMatchObject([{ holder: 'alice' }, { holder: 'bob' }]);
  });
}
