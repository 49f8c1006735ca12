import { describe, expect, it } from 'vitest';
import { METHODS, type MethodName } from '../src/index.ts';
import { type Client, World } from './support/world.ts';

async function everything(world: World): Promise<string> {
  const names = ['agents', 'sessions', 'session:s', 'history:s', 'chunks:s', 'chunk-bodies:s'];
  const parts = await Promise.all(
    names.map(async (name) => [
      name,
      [...(await world.store.read(name)).entries],
      await world.store.leases(name),
      await world.store.waiting(name),
    ]),
  );
  return JSON.stringify(parts);
}

async function open(world: World) {
  const a = await world.agent('a');
  await a.call('session_manager.create', { session_id: 's' });
  await a.call('context_coordinator.update', {
    session_id: 's',
    update: { a: 1, list: [1] },
    with_lock: true,
  });
  return a;
}

/** The call is refused with this code, and nothing has changed. */
async function refuses(
  world: World,
  client: Client,
  code: number,
  method: string,
  params: object,
): Promise<void> {
  const before = await everything(world);
  const error = await client.refused(method, params);
  expect({ method, params, code: error.code }).toEqual({ method, params, code });
  expect(error.data.fix, method).toEqual(expect.any(String));
  expect(await everything(world)).toBe(before);
}

describe('coordination', () => {
  it('refuses an unknown method', async () => {
    await using world = new World();
    const a = await open(world);
    for (const method of [
      'context_coordinator.updat',
      'context_coordinator',
      '',
      'toString',
      '__proto__',
      'constructor',
      'agent_registry.send',
    ]) {
      await refuses(world, a, -32601, method, {});
    }
  });

  it('refuses wrong types, missing and unknown parameters of every method', async () => {
    await using world = new World();
    const a = await open(world);
    for (const method of Object.keys(METHODS) as MethodName[]) {
      await refuses(world, a, -32602, method, { no_such_parameter: 1 });
      await refuses(world, a, -32602, method, { idempotency_key: 17 });
      await refuses(world, a, -32602, method, { agent_id: ['a'] });
    }
    const session_id = 's';
    for (const [method, params] of [
      ['agent_registry.register', { agent_id: 'b' }],
      ['agent_registry.register', { agent_id: 'b', capabilities: 'x' }],
      ['agent_registry.register', { agent_id: 'with space', capabilities: [] }],
      ['agent_registry.register', { agent_id: 'a#1', capabilities: [] }],
      ['agent_registry.register', { agent_id: 'x'.repeat(129), capabilities: [] }],
      ['agent_registry.heartbeat', { epoch: 'x' }],
      ['session_manager.create', { mode: 'free' }],
      ['session_manager.create', { ttl_ms: -1 }],
      ['session_manager.create', { session_id: '../x' }],
      ['session_manager.create', { metadata: [] }],
      ['session_manager.get', {}],
      ['session_manager.get', { session_id: 7 }],
      ['session_manager.get', { session_id: '' }],
      ['session_manager.grant', { session_id, role: 'owner' }],
      ['session_manager.grant', { session_id, member: 'b', role: 'king' }],
      ['context_coordinator.get', { session_id, keys: 'a' }],
      ['context_coordinator.get', { session_id, at_version: -1 }],
      ['context_coordinator.get', { session_id, at_version: 1.5 }],
      ['context_coordinator.update', { session_id }],
      ['context_coordinator.update', { session_id, update: 7, with_lock: true }],
      ['context_coordinator.update', { session_id, update: [], with_lock: true }],
      ['context_coordinator.update', { session_id, update: { a: 1 }, lock_token: '1' }],
      ['context_coordinator.update', { session_id, update: { a: 1 }, if_version: '1' }],
      ['context_coordinator.update', { session_id, update: { a: 1 }, op: 'drop' }],
      ['context_coordinator.update', { session_id, update: [1], op: 'patch', with_lock: true }],
      ['context_coordinator.update', { session_id, update: { '': 1 }, with_lock: true }],
      [
        'context_coordinator.update',
        { session_id, update: { ['k'.repeat(513)]: 1 }, with_lock: true },
      ],
      ['context_coordinator.subscribe', { session_id, after: -1 }],
      ['context_coordinator.events', { session_id, limit: 0 }],
      ['memory_locker.acquire', { session_id, ttl_ms: 0 }],
      ['memory_locker.acquire', { session_id, mode: 'both' }],
      ['memory_locker.acquire', { session_id, wait_ms: -1 }],
      ['memory_locker.acquire', { session_id, wait_ms: 1e12 }],
      ['memory_locker.release', { session_id }],
      ['tool_cache.get', { tool: '' }],
      ['tool_cache.put', { tool: 't' }],
      ['shared_buffer.put', { session_id, content: 7 }],
      ['shared_buffer.get', { session_id, chunk_id: 'x' }],
    ] as const) {
      await refuses(world, a, -32602, method, params);
    }
  });

  it('names the parameter that does not fit', async () => {
    await using world = new World();
    const error = await world.connect().refused('session_manager.get', { session_id: 7 });
    expect(error.data).toMatchObject({ problems: [{ at: 'session_id' }] });
  });

  it('refuses values that are too large', async () => {
    await using world = new World({ limits: { value_bytes: 100, chunk_bytes: 100 } });
    const a = await open(world);
    const large = 'x'.repeat(200);
    const session_id = 's';
    for (const [method, params] of [
      ['context_coordinator.update', { session_id, update: { a: large }, with_lock: true }],
      [
        'context_coordinator.update',
        { session_id, op: 'append', update: { list: large }, with_lock: true },
      ],
      [
        'context_coordinator.update',
        { session_id, op: 'patch', update: { a: { b: large } }, with_lock: true },
      ],
      ['shared_buffer.put', { session_id, content: large }],
      ['tool_cache.put', { tool: 't', result: large, scope: 'session', session_id }],
      ['session_manager.create', { session_id: 'b', metadata: { a: 'x'.repeat(70_000) } }],
      [
        'agent_registry.register',
        { agent_id: 'b', capabilities: [], metadata: { a: 'x'.repeat(70_000) } },
      ],
    ] as const) {
      await refuses(world, a, -32016, method, params);
    }
  });

  it('hides the sessions of other principals', async () => {
    await using world = new World();
    await open(world);
    const stranger = await world.agent('stranger', 'elsewhere');
    const update = { session_id: 's', update: { a: 2 }, with_lock: true };
    await refuses(world, stranger, -32004, 'context_coordinator.update', update);
    await refuses(world, stranger, -32004, 'memory_locker.acquire', { session_id: 's' });
    await refuses(world, stranger, -32004, 'session_manager.end', { session_id: 's' });
    await refuses(world, stranger, -32004, 'session_manager.join', { session_id: 's' });
  });

  it('refuses stale tokens, tokens of other agents, and tokens that no agent got', async () => {
    await using world = new World();
    const a = await open(world);
    const b = await world.agent('b');
    await b.call('session_manager.join', { session_id: 's' });
    const old = await a.call('memory_locker.acquire', { session_id: 's' });
    const stale = 'lock_token' in old ? old.lock_token : 0;
    await a.call('memory_locker.release', { session_id: 's', lock_token: stale });
    const held = await b.call('memory_locker.acquire', { session_id: 's' });
    const foreign = 'lock_token' in held ? held.lock_token : 0;
    for (const lock_token of [stale, foreign, foreign + 1, 0, -1]) {
      const lock = { session_id: 's', lock_token };
      await refuses(world, a, -32015, 'context_coordinator.update', { ...lock, update: { a: 2 } });
      await refuses(world, a, -32015, 'memory_locker.renew', lock);
      await refuses(world, a, -32015, 'memory_locker.release', lock);
    }
  });

  it('refuses to use a lease after it expired', async () => {
    await using world = new World();
    const a = await open(world);
    const held = await a.call('memory_locker.acquire', { session_id: 's', ttl_ms: 1_000 });
    const lock = { session_id: 's', lock_token: 'lock_token' in held ? held.lock_token : 0 };
    await world.advance(1_000);
    await refuses(world, a, -32015, 'context_coordinator.update', { ...lock, update: { a: 2 } });
    await refuses(world, a, -32015, 'memory_locker.renew', lock);
    await refuses(world, a, -32015, 'memory_locker.release', lock);
  });

  it('refuses an update without a lock', async () => {
    await using world = new World();
    const a = await open(world);
    for (const op of ['merge', 'replace', 'append', 'patch', 'increment']) {
      const update = { session_id: 's', update: { a: 2 }, op };
      await refuses(world, a, -32014, 'context_coordinator.update', update);
    }
  });

  it('refuses an agent id that another principal uses', async () => {
    await using world = new World();
    const first = await open(world);
    const stranger = world.connect('elsewhere');
    const same = { agent_id: 'a', capabilities: [] };
    await refuses(world, stranger, -32001, 'agent_registry.register', same);
    const second = await world.agent('a');
    const update = { session_id: 's', update: { a: 2 }, with_lock: true };
    await refuses(world, first, -32015, 'context_coordinator.update', update);
    await refuses(world, first, -32015, 'agent_registry.heartbeat', {});
    await second.call('context_coordinator.update', update);
  });

  it('refuses a cursor from the future', async () => {
    await using world = new World();
    const a = await open(world);
    const after = 1_000;
    for (const [method, params] of [
      ['context_coordinator.subscribe', { after }],
      ['context_coordinator.events', { after }],
      ['context_coordinator.history', { after }],
      ['context_coordinator.get', { at_version: after }],
      ['session_manager.fork', { at_version: after, new_session_id: 'f' }],
    ] as const) {
      await refuses(world, a, -32602, method, { session_id: 's', ...params });
      const error = await a.refused(method, { session_id: 's', ...params });
      expect(error.data).toMatchObject({
        reason: 'cursor_from_the_future',
        current_version: expect.any(Number),
      });
    }
  });
});
