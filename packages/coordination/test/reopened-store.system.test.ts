import { describe, expect, it } from 'vitest';
import type { CoordinationStore } from '../src/coordination-store.ts';
import { count, openWorld, rows } from './fixtures/embedded-world.ts';

const lock = { resource: 'context', holder: 'alice', mode: 'exclusive', ttlMs: 1000 } as const;

const putLarge = (store: CoordinationStore) =>
  store.commit('large', { writes: [{ kind: 'put', key: 'k', value: 'x'.repeat(10_000) }] });

describe('an embedded store that is opened from snapshots alone', () => {
  it('answers a repeated request as it did the first time', async () => {
    await using world = await openWorld({ smallestLogBytes: 1 });
    const commit = {
      writes: [{ kind: 'increment', key: 'n', by: 1 }],
      idempotency: { key: 'commit', request: 'one more' },
    } as const;
    const request = { ...lock, idempotency: { key: 'acquire', request: 'the lock' } };
    const first = await world.open();
    const answers = [await first.commit('p', commit), await first.acquire('p', request)];
    await count(first);
    await putLarge(first);
    await first.close();
    expect(rows(world.path, 'log')).toBe(0);

    const second = await world.open();
    expect([await second.commit('p', commit), await second.acquire('p', request)]).toEqual(answers);
    expect((await second.read('p')).entries.get('n')?.value).toBe(2);
    const other = { ...commit, idempotency: { key: 'commit', request: 'something else' } };
    expect(await second.commit('p', other)).toEqual({ ok: false, reason: 'reused' });
    world.clock.advance(600_001);
    expect(await second.commit('p', commit)).toMatchObject({ ok: true });
    expect((await second.read('p')).entries.get('n')?.value).toBe(3);
    await second.close();
  });

  it('has events, the gap before them, and numbers that go on', async () => {
    await using world = await openWorld({ smallestLogBytes: 1 });
    const first = await world.open();
    for (let n = 0; n < 150; n += 1) await count(first);
    const held = await first.acquire('p', lock);
    await putLarge(first);
    const before = await first.events('p', 60, 1000);
    await first.close();
    expect(rows(world.path, 'log')).toBe(0);

    const second = await world.open();
    expect(await second.events('p', 60, 1000)).toEqual(before);
    expect(await second.events('p', 40, 1000)).toMatchObject({ gap: true });
    expect(await second.breakLease('p', lock.resource)).toMatchObject({ released: true });
    const again = await second.acquire('p', lock);
    const token = (answer: typeof again) => ('lease' in answer ? answer.lease.token : 0);
    expect(token(held)).toBeGreaterThan(0);
    expect(token(again)).toBeGreaterThan(token(held));
    await second.close();
  });
});

describe('an embedded store that is opened after the clock was set back', () => {
  it.each([
    ['by the time in its log', {}],
    ['by the time of its snapshots', { smallestLogBytes: 1 }],
  ])('lets nothing live again that was over, %s', async (_, options) => {
    await using world = await openWorld(options);
    const first = await world.open();
    await first.acquire('p', lock);
    await first.acquire('p', { ...lock, holder: 'bob', waitMs: 1000 });
    const writes = [{ kind: 'put', key: 'short', value: 1, ttlMs: 1000 }] as const;
    await first.commit('p', { writes });
    world.clock.advance(2000);
    await putLarge(first);
    await first.close();
    expect(rows(world.path, 'log')).toBe('smallestLogBytes' in options ? 0 : 4);

    world.clock.advance(-3_600_000);
    const second = await world.open();
    expect(await second.leases('p')).toEqual([]);
    expect(await second.waiting('p')).toEqual([]);
    expect((await second.read('p')).entries.size).toBe(0);
    expect(await second.acquire('p', { ...lock, holder: 'carol' })).toHaveProperty('lease');
    await second.close();
  });
});
