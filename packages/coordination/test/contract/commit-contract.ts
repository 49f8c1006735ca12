import type { Json } from '@starloom/core';
import { expect, it } from 'vitest';
import type { Commit, CoordinationStore } from '../../src/coordination-store.ts';
import type { StoreScenario } from './scenario.ts';

export function commitContract(scenario: () => StoreScenario): void {
  it('starts every partition empty at version 0, and keeps partitions apart', async () => {
    const { store } = scenario();
    expect(await store.read('p')).toEqual({ version: 0, entries: new Map() });
    await scenario().put('a', 1);
    expect((await store.read('q')).version).toBe(0);
  });

  it('raises the version by one for each commit and stamps the keys it wrote', async () => {
    expect(await scenario().put('a', 1)).toEqual({ ok: true, version: 1 });
    expect(await scenario().put('b', 2)).toEqual({ ok: true, version: 2 });
    const { version, entries } = await scenario().store.read('p');
    expect(version).toBe(2);
    expect(entries.get('a')).toEqual({ value: 1, version: 1 });
    expect(await scenario().values(['b', 'none'])).toEqual({ b: 2 });
  });

  it('gives every JSON value back as it was', async () => {
    const value: Json = {
      text: 'ö 😀 \u2028 \0 "quoted" \\',
      numbers: [0, -1.5, 1e21, 5e-324, 9007199254740991, 0.1],
      empty: [{}, [], '', null],
      yes: true,
      __proto__: 'own',
    };
    await scenario().put('a', value, { event: value });
    expect(await scenario().values()).toEqual({ a: value });
    expect(await scenario().published()).toEqual([value]);
  });

  it('takes any text as the name of a key, a resource and a partition', async () => {
    const { store } = scenario();
    const names = ['', ' ', '{x}', '}{', '*?[a]', 'a:b', '__proto__', 'ö\n😀', 'x'.repeat(1000)];
    for (const name of names) {
      await store.commit(name, { writes: [{ kind: 'put', key: name, value: name }], event: name });
      await store.acquire(name, { resource: name, holder: name, mode: 'shared', ttlMs: 60_000 });
    }
    for (const name of names) {
      expect([...(await store.read(name)).entries]).toEqual([[name, { value: name, version: 1 }]]);
      expect(await store.leases(name)).toMatchObject([{ resource: name, holder: name }]);
    }
  });

  it('keeps what it was given, whatever becomes of the object', async () => {
    const value = { list: ['a'] };
    await scenario().put('a', value);
    value.list.push('b');
    const { a } = await scenario().values();
    expect(a).toEqual({ list: ['a'] });
    Object.assign(a ?? {}, { list: 'changed by a reader' });
    expect(await scenario().values()).toEqual({ a: { list: ['a'] } });
  });

  it('applies several writes whole or not at all', async () => {
    const { store } = scenario();
    await scenario().put('text', 'word');
    const writes: Commit['writes'] = [
      { kind: 'put', key: 'a', value: 1 },
      { kind: 'increment', key: 'text', by: 1 },
    ];
    expect(await store.commit('p', { writes })).toMatchObject({
      ok: false,
      reason: 'not_a_number',
      current: { version: 1, entries: new Map([['text', { value: 'word', version: 1 }]]) },
    });
    expect(await scenario().values()).toEqual({ text: 'word' });
    await store.commit('p', {
      writes: [
        { kind: 'delete', key: 'text' },
        { kind: 'increment', key: 'count', by: 2 },
      ],
    });
    expect(await scenario().values()).toEqual({ count: 2 });
  });

  it('adds as JavaScript does, and refuses what is no number', async () => {
    const { store } = scenario();
    for (const by of [0.1, 0.2, -0.3, 1e15, 1]) expect(await add(store, by)).toMatchObject(DONE);
    expect(await scenario().values()).toEqual({ n: 0.1 + 0.2 - 0.3 + 1e15 + 1 });
    for (const value of ['1', null, true, [], {}]) {
      await scenario().put('n', value);
      expect(await add(store, 1)).toMatchObject(NOT_A_NUMBER);
    }
  });

  it('refuses a sum that is not exact: beyond the integers that it can count, or as it was', async () => {
    const { store } = scenario();
    const most = Number.MAX_SAFE_INTEGER;
    for (const sign of [1, -1]) {
      await scenario().put('n', sign * (most - 1));
      expect(await add(store, sign)).toMatchObject(DONE);
      expect(await add(store, sign)).toMatchObject({
        ...NOT_A_NUMBER,
        current: { entries: new Map([['n', { value: sign * most, version: expect.any(Number) }]]) },
      });
      expect(await add(store, sign * Number.MAX_VALUE)).toMatchObject(NOT_A_NUMBER);
      expect(await scenario().values()).toEqual({ n: sign * most });
      expect(await add(store, -sign)).toMatchObject(DONE);
      expect(await scenario().values()).toEqual({ n: sign * (most - 1) });
    }
    for (const by of [0.1, -1e-20]) expect(await add(store, by)).toMatchObject(NOT_A_NUMBER);
    await scenario().put('n', 2 ** 53);
    for (const by of [0, 0.5, 1]) expect(await add(store, by)).toMatchObject(NOT_A_NUMBER);
    await scenario().put('n', Number.MAX_VALUE);
    expect(await add(store, Number.MAX_VALUE)).toMatchObject(NOT_A_NUMBER);
  });

  it('loses no increment of many at once', async () => {
    const { store } = scenario();
    const increment: Commit = { writes: [{ kind: 'increment', key: 'n', by: 1 }] };
    await Promise.all(Array.from({ length: 50 }, () => store.commit('p', increment)));
    expect(await scenario().values()).toEqual({ n: 50 });
    expect((await store.read('p')).version).toBe(50);
  });

  it('refuses a commit on another version than it expects, with what is there', async () => {
    const { put, values } = bound(scenario());
    await put('a', 1);
    expect(await put('a', 2, { ifVersion: 0 })).toEqual({
      ok: false,
      reason: 'conflict',
      current: { version: 1, entries: new Map([['a', { value: 1, version: 1 }]]) },
    });
    expect(await put('a', 2, { ifVersion: 1 })).toEqual({ ok: true, version: 2 });
    expect(await put('a', 3, { ifKeys: new Map([['a', 1]]) })).toMatchObject({ ok: false });
    expect(await put('b', 3, { ifKeys: new Map([['b', 0]]) })).toEqual({ ok: true, version: 3 });
    expect(await put('c', 4, { ifKeys: new Map([['b', 0]]) })).toMatchObject({
      ok: false,
      current: { version: 3, entries: new Map([['b', { value: 3, version: 3 }]]) },
    });
    expect(await values()).toEqual({ a: 2, b: 3 });
  });

  it('forgets a dropped partition, and reports a gap to an earlier reader', async () => {
    const { store } = scenario();
    for (const n of [1, 2, 3]) await scenario().put('a', n, { event: { n } });
    const { token } = await scenario().acquire('alice');
    await scenario().queue('bob');
    await store.drop('p');
    expect(await store.read('p')).toEqual({ version: 0, entries: new Map() });
    expect(await scenario().events()).toEqual([]);
    expect(await scenario().holders()).toEqual([]);
    expect(await scenario().waiters()).toEqual([]);
    await scenario().put('a', 'new', { event: 'new' });
    expect(await store.events('p', 3, 10)).toEqual({ events: [], cursor: 1, gap: true });
    expect((await scenario().acquire('carol')).token).toBeGreaterThan(token);
    const fence = { resource: 'context', token };
    expect(await scenario().put('a', 'late', { fence })).toEqual({ ok: false, reason: 'fenced' });
  });

  it('reports about how much partitions take, and nothing for absent ones', async () => {
    const { store } = scenario();
    expect(await store.size(['p', 'q'])).toBe(0);
    const text = 'x'.repeat(100_000);
    await scenario().put('a', text);
    const one = await store.size(['p']);
    expect(one).toBeGreaterThan(100_000);
    expect(one).toBeLessThan(200_000);
    await scenario().put('a', 'short', { event: text });
    expect(await store.size(['p'])).toBeGreaterThan(100_000);
    await store.commit('q', { writes: [{ kind: 'put', key: 'a', value: text }] });
    expect(await store.size(['p', 'q'])).toBeGreaterThan(200_000);
    await store.commit('q', { writes: [{ kind: 'delete', key: 'a' }] });
    await store.drop('p');
    expect(await store.size(['p', 'q'])).toBeLessThan(10_000);
  });
}

const DONE = { ok: true };
const NOT_A_NUMBER = { ok: false, reason: 'not_a_number' };

function add(store: CoordinationStore, by: number) {
  return store.commit('p', { writes: [{ kind: 'increment', key: 'n', by }] });
}

function bound(scenario: StoreScenario) {
  return { put: scenario.put.bind(scenario), values: scenario.values.bind(scenario) };
}

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
