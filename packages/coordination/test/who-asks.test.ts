import { expect, it } from 'vitest';
import { type Client, World } from './support/world.ts';

const BEAT_MS = 30_000;

/** Each request on a connection of its own, on which nothing is pushed: as by HTTP POST. */
function post(world: World, principal?: string): Pick<Client, 'call' | 'refused'> {
  const connect = () => world.connect(principal, { push: null });
  return {
    call: (method, params) => connect().call(method, params),
    refused: (method, params) => connect().refused(method, params),
  };
}

const register = (agent_id: string) => ({ agent_id, capabilities: [] });

it('[C12] [C5] onboards by single requests, the last of them without a name, as the seed has them', async () => {
  await using world = new World();
  const client = post(world);
  await client.call('agent_registry.register', register('a'));
  const { session_id } = await client.call('session_manager.create', { agent_id: 'a' });
  const { cursor } = await client.call('context_coordinator.subscribe', { session_id });
  await client.call('agent_registry.heartbeat', {});
  await client.call('context_coordinator.update', {
    session_id,
    update: { n: 1 },
    with_lock: true,
  });
  const { events } = await client.call('context_coordinator.events', { session_id, after: cursor });
  expect(events).toMatchObject([{ agent_id: 'a', update: { n: 1 } }]);
});

it('takes the only agent of the principal in the session for the caller, if there are several', async () => {
  await using world = new World();
  const client = post(world);
  for (const agent_id of ['a', 'b'])
    await client.call('agent_registry.register', register(agent_id));
  expect(await client.refused('session_manager.create', {})).toMatchObject({
    code: -32602,
    data: { reason: 'bad_params', agents: ['a', 'b'], fix: expect.stringContaining('agent_id') },
  });
  const { session_id } = await client.call('session_manager.create', { agent_id: 'b' });
  expect((await client.call('session_manager.get', { session_id })).role).toBe('owner');
  await client.call('session_manager.join', { session_id, agent_id: 'a' });
  const both = await client.refused('session_manager.get', { session_id });
  expect(both).toMatchObject({ code: -32602, data: { agents: ['a', 'b'] } });
  await post(world, 'another').call('agent_registry.register', register('c'));
  expect((await post(world, 'another').refused('session_manager.get', { session_id })).code).toBe(
    -32004,
  );
});

it('does not ask which agent is meant when the others are gone', async () => {
  await using world = new World();
  const client = post(world);
  await client.call('agent_registry.register', register('before'));
  await world.advance(2 * BEAT_MS);
  await client.call('agent_registry.register', register('now'));
  const { session_id } = await client.call('session_manager.create', {});
  expect((await client.call('session_manager.get', { session_id })).created_by).toBe('now');
});

it('asks a caller for a name that has no agent, except where none is needed', async () => {
  await using world = new World();
  const client = post(world);
  for (const [method, params] of [
    ['session_manager.create', {}],
    ['session_manager.list', {}],
    ['context_coordinator.get', { session_id: 's' }],
    ['agent_registry.heartbeat', {}],
    ['agent_registry.list', { session_id: 's' }],
    ['tool_cache.get', { tool: 't', scope: 'agent' }],
  ] as const) {
    const refused = await client.refused(method, params);
    expect(refused, method).toMatchObject({ code: -32602, data: { agents: [] } });
  }
  await client.call('mcp.discover', {});
  await client.call('agent_registry.list', {});
  await client.call('tool_cache.put', { tool: 't', result: 1 });
  expect((await client.call('tool_cache.get', { tool: 't' })).hit).toBe(true);
  expect((await client.call('agent_registry.list', {})).agents).toEqual([]);
});

it('[C15] registers an agent that creates or joins a session, with a presence of its own', async () => {
  await using world = new World();
  const [watcher, client] = [await world.agent('watcher'), post(world)];
  const { session_id } = await watcher.call('session_manager.create', {});
  await client.call('session_manager.join', { session_id, agent_id: 'joiner' });
  await client.call('session_manager.create', { session_id: 'own', agent_id: 'creator' });
  const epochOf = async (agent_id: string) => {
    const agent = await client.call('agent_registry.get', { agent_id });
    expect(agent).toMatchObject({ status: 'active', source: 'joined' });
    return agent.epoch;
  };
  const epoch = await epochOf('joiner');
  expect(await epochOf('creator')).toBeGreaterThan(0);
  const members = async () => (await watcher.call('session_manager.get', { session_id })).members;
  expect(await members()).toMatchObject([{}, { agent_id: 'joiner', epoch, connected: true }]);
  const lock = { session_id, agent_id: 'joiner', ttl_ms: 600_000 };
  await client.call('memory_locker.acquire', lock);

  await world.advance(BEAT_MS);
  await watcher.call('agent_registry.heartbeat', {});
  await client.call('agent_registry.heartbeat', { agent_id: 'joiner' });
  await world.advance(BEAT_MS);
  await watcher.call('agent_registry.heartbeat', {});
  expect(await members()).toMatchObject([{}, { connected: true }]);
  await world.advance(BEAT_MS);
  await watcher.call('agent_registry.heartbeat', {});
  expect(await members()).toMatchObject([{}, { connected: false }]);
  await expect
    .poll(() => watcher.pushed('session_manager.agent_disconnected'))
    .toMatchObject([{ session_id, agent_id: 'joiner', reason: 'heartbeat_missed' }]);
  expect((await watcher.call('memory_locker.status', { session_id })).locks).toEqual([]);
  expect((await client.refused('memory_locker.acquire', lock)).code).toBe(-32015);

  await client.call('session_manager.join', { session_id, agent_id: 'joiner' });
  expect(await epochOf('joiner')).toBeGreaterThan(epoch);
  await client.call('memory_locker.acquire', lock);
});

it('asks an agent that had registered to register again before it joins', async () => {
  await using world = new World();
  const client = post(world);
  const { session_id } = await (await world.agent('owner')).call('session_manager.create', {});
  await client.call('agent_registry.register', register('a'));
  await world.advance(2 * BEAT_MS);
  const join = { session_id, agent_id: 'a' };
  expect((await client.refused('session_manager.join', join)).code).toBe(-32015);
});

it('registers an agent once that joins several sessions at the same time', async () => {
  await using world = new World();
  const client = post(world);
  const ids = ['one', 'two', 'three', 'four'];
  await Promise.all(
    ids.map((session_id) => client.call('session_manager.create', { session_id, agent_id: 'a' })),
  );
  const found = await Promise.all(
    ids.map((session_id) => client.call('session_manager.get', { session_id })),
  );
  const epochs = found.flatMap(({ members }) => members.map(({ epoch }) => epoch));
  const { epoch } = await client.call('agent_registry.get', { agent_id: 'a' });
  expect(epochs).toEqual(ids.map(() => epoch));
});

it('takes an agent that joined on a connection for the caller there', async () => {
  await using world = new World();
  const client = world.connect();
  const { session_id } = await client.call('session_manager.create', { agent_id: 'a' });
  await world.agent('b');
  await client.call('context_coordinator.subscribe', { session_id });
  const update = { session_id, update: { n: 1 }, with_lock: true };
  await client.call('context_coordinator.update', update);
  await expect.poll(() => client.pushed('context_coordinator.update')).toHaveLength(1);
});

it('counts requests as heartbeats of a client that cannot send any', async () => {
  await using world = new World();
  const watcher = await world.agent('watcher', 'elsewhere');
  const { session_id } = await watcher.call('session_manager.create', { open: true, mode: 'cas' });
  const ask = async (method: string, params: object) => {
    const principal = { id: 'ci' };
    const peer = world.coordination.connect({ principal, livesByUse: true });
    const answer = await peer.handle({ jsonrpc: '2.0', id: 1, method, params });
    await peer.close();
    expect(answer).toHaveProperty('result');
  };
  const pass = async (ms: number) => {
    await world.advance(ms);
    await watcher.call('agent_registry.heartbeat', {});
  };
  const isConnected = async () => {
    const { members } = await watcher.call('session_manager.get', { session_id });
    return members.find(({ agent_id }) => agent_id === 'user')?.connected;
  };
  await ask('session_manager.join', { session_id, agent_id: 'user' });
  for (let n = 0; n < 4; n += 1) {
    await pass(BEAT_MS);
    await ask('context_coordinator.get', { session_id });
    expect(await isConnected()).toBe(true);
  }
  await pass(BEAT_MS);
  await pass(BEAT_MS);
  expect(await isConnected()).toBe(false);
  await ask('context_coordinator.update', { session_id, update: { n: 1 } });
  expect(await isConnected()).toBe(true);
});
