import { describe, expect, it } from 'vitest';
import { type Client, World } from './support/world.ts';

const KIB = 1024;
const text = (kib: number) => 'x'.repeat(kib * KIB);
const session_id = 's';
const quota = (limit: string) => ({
  code: -32016,
  data: {
    reason: 'quota',
    limit,
    details: expect.stringMatching(/\w/),
    fix: expect.stringMatching(/\w/),
    held: expect.anything(),
  },
});

/** Repeats it until it is refused; what the refusal was, and how often it was done before. */
async function untilRefused(client: Client, make: (n: number) => readonly [string, object]) {
  for (let n = 0; n < 1_000; n += 1) {
    const [method, params] = make(n);
    const answer = await client.peer.handle({ jsonrpc: '2.0', id: n, method, params });
    if (answer && 'error' in answer) return { done: n, error: answer.error };
  }
  return expect.fail('was never refused');
}

async function openWorld(limits = {}) {
  const world = new World({ limits: { bytes_per_principal: 256 * KIB, ...limits } });
  const noisy = await world.agent('noisy', 'noisy');
  const quiet = await world.agent('quiet', 'quiet');
  await noisy.call('session_manager.create', { session_id, mode: 'cas' });
  return { world, noisy, quiet };
}

async function expectServed(quiet: Client) {
  const { session_id: own } = await quiet.call('session_manager.create', { mode: 'cas' });
  const update = { text: text(8) };
  await quiet.call('context_coordinator.update', { session_id: own, update });
  await quiet.call('shared_buffer.put', { session_id: own, content: text(8) });
}

describe('the bytes that a principal holds', () => {
  it.each<[string, (n: number) => readonly [string, object]]>([
    [
      'keys of a context',
      (n) => [
        'context_coordinator.update',
        { session_id, update: { [`k${n}`]: text(16) }, agent_id: 'noisy' },
      ],
    ],
    ['chunks', (n) => ['shared_buffer.put', { session_id, content: `${n}${text(16)}` }]],
    ['results', (n) => ['tool_cache.put', { tool: 't', params: n, result: text(16) }]],
    [
      'results of a session',
      (n) => [
        'tool_cache.put',
        { tool: 't', params: n, result: text(16), scope: 'session', session_id },
      ],
    ],
    [
      'results of many agents',
      (n) => [
        'tool_cache.put',
        { agent_id: `a${n}`, tool: 't', params: n, result: text(16), scope: 'agent' },
      ],
    ],
    ['metadata of sessions', () => ['session_manager.create', { metadata: { text: text(16) } }]],
    [
      'metadata of agents',
      (n) => [
        'agent_registry.register',
        { agent_id: `a${n}`, capabilities: [], metadata: { text: text(16) } },
      ],
    ],
    [
      'capabilities',
      (n) => [
        'agent_registry.register',
        { agent_id: `a${n}`, capabilities: Array.from({ length: 16 }, (_, c) => `c${n}-${c}`) },
      ],
    ],
  ])('are bounded, in %s, and others go on', async (_, make) => {
    const { world, noisy, quiet } = await openWorld();
    await using __ = world;
    const { done, error } = await untilRefused(noisy, make);
    expect(error).toMatchObject(quota('bytes_per_principal'));
    expect(done).toBeGreaterThanOrEqual(4);
    expect(done).toBeLessThan(32);
    await expectServed(quiet);
  });

  it('are bounded in checkpoints and forks', async () => {
    const { world, noisy } = await openWorld();
    await using _ = world;
    const update = { text: text(16) };
    await noisy.call('context_coordinator.update', { session_id, update });
    for (const method of ['session_manager.checkpoint', 'session_manager.fork']) {
      const { done, error } = await untilRefused(noisy, () => [method, { session_id }]);
      expect(error).toMatchObject(quota('bytes_per_principal'));
      expect(done).toBeLessThan(16);
    }
  });

  it('are free again when the session is over, and may be removed before', async () => {
    const { world, noisy } = await openWorld();
    await using _ = world;
    const update = (n: number) =>
      ['context_coordinator.update', { session_id, update: { [`k${n}`]: text(16) } }] as const;
    await untilRefused(noisy, update);
    const removal = { session_id, update: { k0: null } };
    await noisy.call('context_coordinator.update', removal);
    await noisy.call('session_manager.end', { session_id });
    const large = { metadata: { text: text(60) } };
    expect(await noisy.refused('session_manager.create', large)).toMatchObject({ code: -32016 });
    await world.advance(61_000);
    const again = await noisy.peer.handle({
      jsonrpc: '2.0',
      id: 1,
      method: 'agent_registry.register',
      params: { agent_id: 'noisy', capabilities: [] },
    });
    expect(again).toHaveProperty('result');
    await noisy.call('session_manager.create', { session_id, mode: 'cas' });
    expect((await untilRefused(noisy, update)).done).toBeGreaterThanOrEqual(4);
  });

  it('count for the principal that created the session, and on every gateway', async () => {
    const { world, noisy } = await openWorld();
    await using _ = world;
    const open = { session_id: 'open', mode: 'cas', open: true } as const;
    await noisy.call('session_manager.create', open);
    const guest = await world.agent('guest', 'guest');
    await guest.call('session_manager.join', { session_id: 'open' });
    await untilRefused(guest, (n) => [
      'context_coordinator.update',
      { session_id: 'open', update: { [`k${n}`]: text(16) } },
    ]);
    const limits = { bytes_per_principal: 256 * KIB };
    const elsewhere = world.another({ limits });
    const client = world.connect('noisy', { coordination: elsewhere });
    const update = { session_id, agent_id: 'noisy', update: { text: text(16) } };
    const refusal = await client.refused('context_coordinator.update', update);
    expect(refusal).toMatchObject(quota('bytes_per_principal'));
    await elsewhere.close();
    await expectServed(guest);
  });

  it('are not counted again and again for callers that are refused', async () => {
    const { world, noisy } = await openWorld();
    await using _ = world;
    const { store, clock } = world;
    const size = store.size.bind(store);
    let counts = 0;
    store.size = async (partitions) => {
      counts += 1;
      clock.advance(1);
      return await size(partitions);
    };
    await untilRefused(noisy, (n) => [
      'context_coordinator.update',
      { session_id, update: { [`k${n}`]: text(16) } },
    ]);
    counts = 0;
    const update = { session_id, update: { text: text(16) } };
    for (let n = 0; n < 100; n += 1) await noisy.refused('context_coordinator.update', update);
    expect(counts).toBeLessThanOrEqual(1);
  });
});

describe('a principal', () => {
  it('has a bounded number of sessions, whichever agent creates them', async () => {
    const { world, noisy, quiet } = await openWorld({ sessions_per_principal: 5 });
    await using _ = world;
    const create = (n: number) => ['session_manager.create', { agent_id: `a${n}` }] as const;
    const { done, error } = await untilRefused(noisy, create);
    expect(error).toMatchObject({ ...quota('sessions_per_principal') });
    expect(error.data.held).toMatchObject({ entries: 5 });
    expect(done).toBe(4);
    await expectServed(quiet);
  });

  it('has a bounded number of registered agents, which leaves room to others', async () => {
    const { world, noisy, quiet } = await openWorld({ agents_per_principal: 5, agents: 20 });
    await using _ = world;
    const register = (n: number) =>
      ['agent_registry.register', { agent_id: `a${n}`, capabilities: [] }] as const;
    const { done, error } = await untilRefused(noisy, register);
    expect(error).toMatchObject(quota('agents_per_principal'));
    expect(done).toBe(4);
    await quiet.call('agent_registry.register', { agent_id: 'another', capabilities: [] });
    await noisy.call('agent_registry.register', { agent_id: 'a1', capabilities: [] });
    await noisy.call('agent_registry.unregister', { agent_id: 'a1' });
    await noisy.call('agent_registry.register', { agent_id: 'a9', capabilities: [] });
  });

  it('loses its own inactive agents when it needs room for another', async () => {
    const { world, noisy, quiet } = await openWorld({ agents_per_principal: 3 });
    await using _ = world;
    for (const agent_id of ['a1', 'a2']) {
      await noisy.call('agent_registry.register', { agent_id, capabilities: [] });
    }
    await world.advance(60_000);
    await noisy.call('agent_registry.register', { agent_id: 'a3', capabilities: [] });
    const { agents } = await quiet.call('agent_registry.list', {});
    const ids = agents.map(({ agent_id }) => agent_id);
    expect(ids).toContain('quiet');
    expect(ids).toContain('a3');
    expect(ids).not.toContain('noisy');
  });

  it('has a bounded number of agent ids', async () => {
    const { world, noisy, quiet } = await openWorld({ agent_ids_per_principal: 5 });
    await using _ = world;
    const join = (n: number) =>
      ['session_manager.join', { session_id, agent_id: `a${n}` }] as const;
    const { done, error } = await untilRefused(noisy, join);
    expect(error).toMatchObject(quota('agent_ids_per_principal'));
    expect(done).toBe(4);
    await noisy.call('session_manager.join', { session_id, agent_id: 'a1' });
    await expectServed(quiet);
  });

  it('has a bounded number of subscriptions over all its connections', async () => {
    const { world, noisy, quiet } = await openWorld({ subscriptions_per_principal: 3 });
    await using _ = world;
    const subscribe = () => ['context_coordinator.subscribe', { session_id }] as const;
    const { done, error } = await untilRefused(noisy, subscribe);
    expect(done).toBe(3);
    expect(error).toMatchObject(quota('subscriptions_per_principal'));
    const second = world.connect('noisy');
    const asked = { session_id, agent_id: 'noisy' };
    expect((await second.refused('context_coordinator.subscribe', asked)).code).toBe(-32016);
    const own = await quiet.call('session_manager.create', {});
    await quiet.call('context_coordinator.subscribe', { session_id: own.session_id });
    await noisy.peer.close();
    await second.call('context_coordinator.subscribe', asked);
  });

  it('has a bounded number of requests that wait for a lock', async () => {
    const { world, noisy } = await openWorld({ waits_per_principal: 2 });
    await using _ = world;
    await noisy.call('memory_locker.acquire', { session_id });
    const others = await Promise.all(['a', 'b', 'c'].map((id) => world.agent(id, 'noisy')));
    await Promise.all(others.map((other) => other.call('session_manager.join', { session_id })));
    const [a, b, c] = others as [Client, Client, Client];
    const wait = { session_id, wait_ms: 60_000 };
    const waiting = [a, b].map((client) =>
      client.peer.handle({ jsonrpc: '2.0', id: 1, method: 'memory_locker.acquire', params: wait }),
    );
    const refused = await c.refused('memory_locker.acquire', wait);
    expect(refused).toMatchObject(quota('waits_per_principal'));
    await Promise.all([a, b].map((client) => client.peer.close()));
    await Promise.all(waiting);
  });
});
