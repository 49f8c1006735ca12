import { beforeEach, describe, expect, it } from 'vitest';
import { type Client, World } from './support/world.ts';

describe('context', () => {
  let world: World;
  let client: Client;
  let session_id: string;

  async function open(mode: 'lock' | 'cas', options = {}) {
    world = new World(options);
    client = await world.agent('a');
    session_id = (await client.call('session_manager.create', { mode })).session_id;
  }

  beforeEach(async () => {
    await open('cas');
    return async () => await world[Symbol.asyncDispose]();
  });

  const get = () => client.call('context_coordinator.get', { session_id });
  const context = async () => (await get()).context;
  type Update = Parameters<typeof client.call<'context_coordinator.update'>>[1];
  const update = (params: Omit<Update, 'session_id'>) =>
    client.call('context_coordinator.update', { session_id, ...params });
  const refused = (params: object) =>
    client.refused('context_coordinator.update', { session_id, ...params });

  it('sets the keys that a merge names, and keeps the others', async () => {
    await update({ update: { a: 1, b: { x: 1 } } });
    await update({ update: { b: { y: 2 }, c: null } });
    expect(await context()).toEqual({ a: 1, b: { y: 2 }, c: null });
  });

  it('replaces the whole context', async () => {
    await update({ update: { a: 1, b: 2 } });
    await update({ op: 'replace', update: { b: 3, c: 4 } });
    expect(await context()).toEqual({ b: 3, c: 4 });
  });

  it('appends to lists, one item or several, and begins lists that are not there', async () => {
    await update({ op: 'append', update: { list: 'a' } });
    await update({ op: 'append', update: { list: ['b', 'c'], other: [['nested']] } });
    expect(await context()).toEqual({ list: ['a', 'b', 'c'], other: [['nested']] });
    await update({ update: { word: 'x' } });
    expect(await refused({ op: 'append', update: { word: 1 } })).toMatchObject({
      code: -32602,
      data: { reason: 'not_a_list', key: 'word' },
    });
  });

  it('loses no item of many appended at once', async () => {
    const items = Array.from({ length: 30 }, (_, n) => n);
    await Promise.all(items.map((n) => update({ op: 'append', update: { list: n } })));
    const { list } = await context();
    expect([...(list as number[])].sort((a, b) => a - b)).toEqual(items);
  });

  it('increments numbers, many at once, and nothing else', async () => {
    await Promise.all(
      Array.from({ length: 50 }, () => update({ op: 'increment', update: { n: 2, m: -1 } })),
    );
    expect(await context()).toEqual({ n: 100, m: -50 });
    await update({ update: { word: 'x' } });
    expect(await refused({ op: 'increment', update: { n: 1, word: 1 } })).toMatchObject({
      code: -32602,
      data: { reason: 'not_a_number', current: { word: 'x' } },
    });
    expect((await refused({ op: 'increment', update: { n: 'x' } })).code).toBe(-32602);
    expect((await context()).n).toBe(100);
  });

  it('refuses to increment beyond what integers can count, and says so', async () => {
    const most = Number.MAX_SAFE_INTEGER;
    await update({ update: { n: most - 1 } });
    await update({ op: 'increment', update: { n: 1 } });
    const error = await refused({ op: 'increment', update: { n: 1, other: 1 } });
    expect(error).toMatchObject({
      code: -32602,
      data: { reason: 'not_a_number', current: { n: most }, most },
    });
    expect(error.data.details).toContain('2^53');
    expect(await context()).toEqual({ n: most });
  });

  it('applies a JSON merge patch', async () => {
    await update({ update: { a: { b: { c: 1, d: 2 } }, e: 1, list: [1, 2] } });
    await update({ op: 'patch', update: { a: { b: { c: null, x: 3 } }, e: null, list: [3] } });
    expect(await context()).toEqual({ a: { b: { d: 2, x: 3 } }, list: [3] });
  });

  it('applies a JSON Patch whole or not at all', async () => {
    await update({ update: { a: { list: [1, 2, 3] }, b: 'x' } });
    await update({
      op: 'patch',
      update: [
        { op: 'test', path: '/a/list/0', value: 1 },
        { op: 'add', path: '/a/list/1', value: 'new' },
        { op: 'remove', path: '/b' },
        { op: 'copy', from: '/a/list', path: '/c' },
        { op: 'move', from: '/a/list/0', path: '/first' },
        { op: 'replace', path: '/a/list/-0'.replace('-', ''), value: 'zero' },
      ],
    });
    const expected = { a: { list: ['zero', 2, 3] }, c: [1, 'new', 2, 3], first: 1 };
    expect(await context()).toEqual(expected);
    const before = (await get()).version;
    const failing = [
      { op: 'add', path: '/d', value: 1 },
      { op: 'test', path: '/first', value: 2 },
    ];
    expect(await refused({ op: 'patch', update: failing })).toMatchObject({
      code: -32013,
      data: { reason: 'test_failed', path: '/first', current: 1 },
    });
    const missing = [{ op: 'remove', path: '/none/at/all' }];
    expect(await refused({ op: 'patch', update: missing })).toMatchObject({
      code: -32602,
      data: { reason: 'patch_failed' },
    });
    const whole = [{ op: 'replace', path: '', value: [] }];
    expect((await refused({ op: 'patch', update: whole })).data.reason).toBe('patch_failed');
    expect((await refused({ op: 'patch', update: [{ op: 'drop', path: '/a' }] })).code).toBe(
      -32602,
    );
    expect(await get()).toMatchObject({ context: expected, version: before });
  });

  it('makes the test of a JSON Patch part of the write', async () => {
    await update({ update: { owner: null, tries: 0 } });
    const take = (name: string) =>
      client.peer.handle({
        jsonrpc: '2.0',
        id: name,
        method: 'context_coordinator.update',
        params: {
          session_id,
          op: 'patch',
          update: [
            { op: 'test', path: '/owner', value: null },
            { op: 'replace', path: '/owner', value: name },
          ],
        },
      });
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map(take));
    expect(answers.filter((answer) => answer && 'result' in answer)).toHaveLength(1);
  });

  it('[C6] needs the lock of the context before an update, and refuses conflicts', async () => {
    await world[Symbol.asyncDispose]();
    await open('lock');
    const other = await world.agent('b');
    await other.call('session_manager.join', { session_id });
    const write = { update: { a: 1 } };
    expect(await refused(write)).toMatchObject({ code: -32014, data: { reason: 'lock_required' } });
    const held = await client.call('memory_locker.acquire', { session_id });
    const lock_token = 'lock_token' in held ? held.lock_token : 0;
    const { version } = await update({ ...write, lock_token });
    expect(
      await other.refused('context_coordinator.update', { session_id, ...write }),
    ).toMatchObject({ code: -32014, data: { holder: 'a', expires_at: expect.any(Number) } });
    expect(
      await other.refused('context_coordinator.update', { session_id, ...write, with_lock: true }),
    ).toMatchObject({ code: -32014, data: { reason: 'lock_held', holder: 'a' } });
    expect(
      await other.refused('context_coordinator.update', { session_id, ...write, lock_token }),
    ).toMatchObject({ code: -32015, data: { reason: 'stale_token' } });
    expect(await refused({ update: { a: 2 }, lock_token, if_version: version - 1 })).toMatchObject({
      code: -32013,
      data: { reason: 'conflict', current_version: version, current: { a: 1 } },
    });
    await client.call('memory_locker.release', { session_id, lock_token });
    expect((await refused({ ...write, lock_token })).code).toBe(-32015);
    expect(await get()).toMatchObject({ context: { a: 1 }, version });
  });

  it('refuses the token of an ended lock, even if the lock is free', async () => {
    await world[Symbol.asyncDispose]();
    await open('lock');
    const held = await client.call('memory_locker.acquire', { session_id, ttl_ms: 1_000 });
    const lock_token = 'lock_token' in held ? held.lock_token : 0;
    world.clock.advance(2_000);
    expect(await refused({ update: { a: 1 }, lock_token })).toMatchObject({ code: -32015 });
    expect(await context()).toEqual({});
  });

  it('does not write under a shared lock', async () => {
    await world[Symbol.asyncDispose]();
    await open('lock');
    const held = await client.call('memory_locker.acquire', { session_id, mode: 'shared' });
    const lock_token = 'lock_token' in held ? held.lock_token : 0;
    expect(await refused({ update: { a: 1 }, lock_token })).toMatchObject({ code: -32014 });
  });

  it('takes the lock, writes and releases it in one step', async () => {
    await world[Symbol.asyncDispose]();
    await open('lock');
    const first = await update({ update: { a: 1 }, with_lock: true });
    const second = await update({ update: { a: 2 }, with_lock: true });
    expect(second.lock_token).toBeGreaterThan(first.lock_token ?? 0);
    expect((await client.call('memory_locker.status', { session_id })).locked).toBe(false);
    expect(await context()).toEqual({ a: 2 });
  });

  it('compares versions of the whole and of keys, and sets', async () => {
    const { version } = await update({ update: { a: 1, b: 1 } });
    const next = await update({ update: { a: 2 }, if_version: version });
    expect(await refused({ update: { a: 3 }, if_version: version })).toMatchObject({
      code: -32013,
      data: { current_version: next.version, current: { a: 2 } },
    });
    await update({ update: { b: 2 }, if_versions: { b: version, none: 0 } });
    expect(await refused({ update: { b: 3 }, if_versions: { b: version } })).toMatchObject({
      code: -32013,
      data: { current: { b: 2 }, current_versions: { b: next.version + 1 } },
    });
    const { versions } = await get();
    expect(versions).toEqual({ a: next.version, b: next.version + 1 });
  });

  it('lets one of many win that expect the same version', async () => {
    const { version } = await update({ update: { n: 0 } });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        client.peer.handle({
          jsonrpc: '2.0',
          id: n,
          method: 'context_coordinator.update',
          params: { session_id, update: { n }, if_version: version },
        }),
      ),
    );
    expect(answers.filter((answer) => answer && 'result' in answer)).toHaveLength(1);
  });

  it('does not take joins and locks for changes of the context', async () => {
    const { version } = await update({ update: { a: 1 } });
    const other = await world.agent('b');
    await other.call('session_manager.join', { session_id });
    const { cursor } = await get();
    expect(cursor).toBeGreaterThan(version);
    await update({ update: { a: 2 }, if_version: version });
    const { cursor: later } = await get();
    await other.call('session_manager.leave', { session_id });
    await update({ update: { a: 3 }, if_version: later });
  });

  it('answers an expected version from the future as any other that is not there: a conflict', async () => {
    const { version } = await update({ update: { a: 1 } });
    for (const expected of [{ if_version: 1_000 }, { if_versions: { a: 1_000 } }]) {
      expect(await refused({ update: { a: 2 }, ...expected })).toMatchObject({
        code: -32013,
        data: { reason: 'conflict', current_version: version, current: { a: 1 } },
      });
    }
    expect(await context()).toEqual({ a: 1 });
    const params = { session_id, at_version: 1_000 };
    expect((await client.refused('context_coordinator.get', params)).code).toBe(-32602);
  });

  it('reads some keys only', async () => {
    await update({ update: { a: 1, b: 2 } });
    const { context: some } = await client.call('context_coordinator.get', {
      session_id,
      keys: ['b', 'none'],
    });
    expect(some).toEqual({ b: 2 });
  });

  it('keeps odd keys and values as they are', async () => {
    const odd = { ['__proto__']: 1, constructor: { a: [] }, '/~~1': 'x', 'ключ 🗝': null };
    await update({ update: odd });
    expect(Object.entries(await context()).sort()).toEqual(Object.entries(odd).sort());
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });

  it('does a request with an idempotency key once', async () => {
    const params = { op: 'append', update: { list: 'x' }, idempotency_key: 'k' } as const;
    const first = await update(params);
    expect(await update(params)).toEqual(first);
    await update({ ...params, idempotency_key: 'other' });
    expect(await context()).toEqual({ list: ['x', 'x'] });
  });

  it('answers a repeated request as the first, also when it could not be done any more', async () => {
    await update({ update: { x: 1 } });
    const patch = [
      { op: 'test', path: '/x', value: 1 },
      { op: 'remove', path: '/x' },
    ];
    const once = { op: 'patch' as const, update: patch, idempotency_key: 'patch' };
    const first = await update(once);
    expect(await update(once)).toEqual(first);
    expect((await refused({ op: 'patch', update: patch })).code).toBe(-32013);

    const lock = await client.call('memory_locker.acquire', { session_id });
    const lock_token = 'lock_token' in lock ? lock.lock_token : expect.fail('was not free');
    const locked = { agent_id: 'a', update: { y: 1 }, lock_token, idempotency_key: 'locked' };
    const second = await update(locked);
    await client.call('memory_locker.release', { session_id, lock_token });
    const elsewhere = world.another();
    const again = world.connect('ci', { coordination: elsewhere });
    const params = { session_id, ...locked };
    expect(await again.call('context_coordinator.update', params)).toEqual(second);
    await elsewhere.close();
    expect(await context()).toEqual({ y: 1 });
  });

  it('does a request once, with the lock or without', async () => {
    const once = { op: 'increment' as const, update: { c: 1 }, idempotency_key: 'k' };
    await update(once);
    expect(await refused({ ...once, with_lock: true })).toMatchObject({
      code: -32602,
      data: { reason: 'idempotency_key_reused' },
    });
    expect(await context()).toEqual({ c: 1 });
  });

  it('refuses another update under a key that is taken', async () => {
    const first = await update({ update: { a: 1 }, idempotency_key: 'k' });
    const reused = { code: -32602, data: { reason: 'idempotency_key_reused' } };
    for (const other of [{ update: { a: 2 } }, { update: { a: 1 }, op: 'increment' as const }]) {
      const refusal = await refused({ ...other, idempotency_key: 'k' });
      expect(refusal).toMatchObject(reused);
    }
    expect(await update({ update: { a: 1 }, idempotency_key: 'k', trace_id: 't' })).toEqual(first);
    expect(await context()).toEqual({ a: 1 });
  });

  it('keeps within its quotas and stays as it was', async () => {
    await world[Symbol.asyncDispose]();
    await open('cas', { limits: { context_keys: 3, context_bytes: 100, value_bytes: 60 } });
    await update({ update: { a: 1, b: 2, c: 3 } });
    const quota = (limit: string) => ({ code: -32016, data: { reason: 'quota', limit } });
    expect(await refused({ update: { d: 4 } })).toMatchObject(quota('context_keys'));
    expect(await refused({ update: { a: 'x'.repeat(60) } })).toMatchObject(quota('value_bytes'));
    await update({ update: { a: 'x'.repeat(50) } });
    expect(await refused({ update: { b: 'x'.repeat(50) } })).toMatchObject(quota('context_bytes'));
    for (let n = 0; n < 20; n += 1) await update({ update: { a: `short ${n}` } });
    await update({ op: 'patch', update: { b: null } });
    await update({ update: { d: 4 } });
    expect(await context()).toEqual({ a: 'short 19', c: 3, d: 4 });
  });

  it('does not read the whole context for each update', async () => {
    const read = world.store.read.bind(world.store);
    let whole = 0;
    world.store.read = (partition, keys) => {
      if (keys === undefined) whole += 1;
      return read(partition, keys);
    };
    for (let n = 0; n < 50; n += 1) await update({ update: { [`key-${n}`]: n } });
    expect(whole).toBeLessThan(3);
  });

  it('acts on what the session is now, not on what it was', async () => {
    const other = await world.agent('b');
    await other.call('session_manager.join', { session_id });
    const write = { session_id, update: { x: 1 } };
    await other.call('context_coordinator.update', write);
    await client.call('session_manager.grant', { session_id, member: 'b', role: 'reader' });
    expect((await other.refused('context_coordinator.update', write)).code).toBe(-32001);
    await client.call('session_manager.grant', { session_id, member: 'b', role: 'writer' });
    await other.call('context_coordinator.update', write);
    await client.call('session_manager.end', { session_id });
    expect((await other.refused('context_coordinator.update', write)).code).toBe(-32004);
  });
});
