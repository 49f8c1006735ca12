import { describe, expect, it } from 'vitest';
import { METHODS } from '../src/index.ts';
import { type Client, World } from './support/world.ts';

const BEAT_MS = 30_000;

describe('agent registry', () => {
  it('[C3] registers an agent with capabilities, asks for a beat every 30 s, and unregisters it', async () => {
    await using world = new World();
    const client = world.connect();
    const registered = await client.call('agent_registry.register', {
      agent_id: 'planner',
      capabilities: ['plan', { name: 'review', version: '2' }],
      name: 'The planner',
    });
    expect(registered).toMatchObject({ agent_id: 'planner', heartbeat_interval_ms: BEAT_MS });
    const status = async () =>
      (await client.call('agent_registry.get', { agent_id: 'planner' })).status;
    for (let beat = 0; beat < 10; beat += 1) {
      await world.advance(BEAT_MS);
      expect(await status()).toBe('active');
      const answer = await client.call('agent_registry.heartbeat', { agent_id: 'planner' });
      expect(answer.next_before).toBeGreaterThan(world.clock.now() + BEAT_MS);
    }
    expect(await client.call('agent_registry.get', { agent_id: 'planner' })).toMatchObject({
      name: 'The planner',
      capabilities: [{ name: 'plan' }, { name: 'review', version: '2' }],
      last_seen: world.clock.now(),
    });
    await client.call('agent_registry.unregister', { agent_id: 'planner' });
    expect((await client.refused('agent_registry.get', { agent_id: 'planner' })).code).toBe(-32004);
    const beat = client.refused('agent_registry.heartbeat', { agent_id: 'planner' });
    expect((await beat).code).toBe(-32004);
  });

  it('[C2] makes services, agents, capabilities and tools discoverable', async () => {
    await using world = new World();
    const client = world.connect();
    expect(await client.call('mcp.discover', {})).toEqual({
      protocol_version: '1.0.0',
      services: {
        agent_registry: '/agent-registry',
        context_coordinator: '/context-coordinator',
        memory_locker: '/memory-locker',
        tool_cache: '/tool-cache',
        shared_buffer: '/shared-buffer',
        session_manager: '/session-manager',
      },
    });
    const capabilities = [{ name: 'search', description: 'Searches', parameters: { q: {} } }];
    await client.call('agent_registry.register', { agent_id: 'a', capabilities });
    await client.call('agent_registry.register', { agent_id: 'b', capabilities: ['search'] });
    const { agents } = await client.call('agent_registry.list', {});
    expect(agents.map(({ agent_id }) => agent_id).sort()).toEqual(['a', 'b']);
    const found = await client.call('agent_registry.find', { capability: 'search' });
    expect(found.agents.find(({ agent_id }) => agent_id === 'a')?.capabilities).toEqual(
      capabilities,
    );
    const { methods } = await client.call('mcp.describe', {});
    const services = Object.keys(METHODS).filter((name) => !name.startsWith('mcp.'));
    expect(methods.map(({ name }) => name)).toEqual(services);
    expect(methods.every(({ params }) => params.type === 'object')).toBe(true);
  });

  it('takes over the states that agents say they are in, and filters by them', async () => {
    await using world = new World();
    for (const status of ['active', 'idle', 'busy', 'draining'] as const) {
      const client = await world.agent(`is-${status}`);
      expect((await client.call('agent_registry.heartbeat', { status })).status).toBe(status);
      expect((await client.call('agent_registry.heartbeat', {})).status).toBe(status);
    }
    const client = world.connect();
    const { agents } = await client.call('agent_registry.list', { status: 'busy' });
    expect(agents.map(({ agent_id }) => agent_id)).toEqual(['is-busy']);
    const wrong = { agent_id: 'is-idle', status: 'inactive' };
    expect((await client.refused('agent_registry.heartbeat', wrong)).code).toBe(-32602);
  });

  it('finds an agent by what it offers now, not by what it once offered', async () => {
    await using world = new World();
    const client = world.connect();
    const find = async (capability: string) =>
      (await client.call('agent_registry.find', { capability })).agents.map((a) => a.agent_id);
    await client.call('agent_registry.register', { agent_id: 'a', capabilities: ['old', 'kept'] });
    await client.call('agent_registry.register', { agent_id: 'a', capabilities: ['kept', 'new'] });
    expect([await find('old'), await find('kept'), await find('new')]).toEqual([[], ['a'], ['a']]);
    await world.advance(10 * BEAT_MS);
    expect(await find('kept')).toEqual([]);
    expect((await world.store.read('capability:kept')).entries.size).toBe(0);
    await client.call('agent_registry.register', { agent_id: 'a', capabilities: ['kept'] });
    expect(await find('kept')).toEqual(['a']);
    await client.call('agent_registry.unregister', { agent_id: 'a' });
    expect(await find('kept')).toEqual([]);
  });

  it('lists the agents of a session to its members only', async () => {
    await using world = new World();
    const [owner, guest] = [await world.agent('owner'), await world.agent('guest', 'elsewhere')];
    const { session_id } = await owner.call('session_manager.create', {});
    const { agents } = await owner.call('agent_registry.list', { session_id });
    expect(agents.map(({ agent_id }) => agent_id)).toEqual(['owner']);
    expect((await guest.refused('agent_registry.list', { session_id })).code).toBe(-32004);
  });

  it('shows name and metadata of an agent to its own principal alone', async () => {
    await using world = new World();
    const owner = world.connect('owner');
    await owner.call('agent_registry.register', {
      agent_id: 'planner',
      name: 'The planner of team X',
      capabilities: ['plan'],
      metadata: { host: 'internal-7' },
    });
    await owner.call('session_manager.create', { session_id: 's', open: true });
    const stranger = world.connect('stranger');
    await stranger.call('session_manager.join', { session_id: 's', agent_id: 'other' });
    const seenBy = async (client: Client) => {
      const seen = [
        await client.call('agent_registry.get', { agent_id: 'planner' }),
        ...(await client.call('agent_registry.list', {})).agents,
        ...(await client.call('agent_registry.list', { session_id: 's' })).agents,
        ...(await client.call('agent_registry.find', { capability: 'plan' })).agents,
      ];
      return seen.filter(({ agent_id }) => agent_id === 'planner');
    };
    const own = await seenBy(owner);
    const foreign = await seenBy(stranger);
    expect(own).toHaveLength(4);
    expect(foreign).toHaveLength(4);
    for (const { metadata } of own) expect(metadata).toEqual({ host: 'internal-7' });
    for (const agent of foreign) {
      const about = { agent_id: 'planner', status: 'active', capabilities: [{ name: 'plan' }] };
      expect(agent).toMatchObject({ ...about, name: 'planner', metadata: {} });
    }
  });

  it('binds an agent id to the principal that used it first', async () => {
    await using world = new World();
    await world.agent('planner', 'first');
    const thief = world.connect('second');
    for (const [method, params] of [
      ['agent_registry.register', { capabilities: [] }],
      ['agent_registry.heartbeat', {}],
      ['agent_registry.unregister', {}],
      ['session_manager.create', {}],
      ['session_manager.list', {}],
    ] as const) {
      const error = await thief.refused(method, { agent_id: 'planner', ...params });
      expect(error).toMatchObject({ code: -32001, data: { reason: 'agent_id_taken' } });
    }
    const { status } = await thief.call('agent_registry.get', { agent_id: 'planner' });
    expect(status).toBe('active');
    const elsewhere = world.another();
    const again = world.connect('second', { coordination: elsewhere });
    const params = { agent_id: 'planner' };
    expect((await again.refused('session_manager.list', params)).code).toBe(-32001);
    await elsewhere.close();
  });

  it('frees an id that was not used for long, but not what its agent was part of', async () => {
    await using world = new World({
      limits: { forget_agent_ms: 60_000 },
      heartbeatIntervalMs: 86_400_000,
    });
    const first = world.connect('first');
    const params = { agent_id: 'planner', session_id: 's' };
    await first.call('session_manager.create', params);
    await world.advance(61_000);
    const second = await world.agent('planner', 'second');
    expect((await second.refused('context_coordinator.get', params)).code).toBe(-32004);
    expect((await second.call('session_manager.list', {})).sessions).toEqual([]);
  });

  it('gives each registration a larger epoch, also after the agent was unregistered', async () => {
    await using world = new World();
    const epochs: number[] = [];
    for (const gone of [false, true, false]) {
      const client = await world.agent('planner');
      epochs.push(client.epoch);
      if (gone) await client.call('agent_registry.unregister', {});
    }
    expect(epochs).toEqual([...epochs].sort((a, b) => a - b));
    expect(new Set(epochs).size).toBe(3);
  });

  it('leaves all sessions when an agent unregisters and asks for it', async () => {
    await using world = new World();
    const [owner, helper] = [await world.agent('owner'), await world.agent('helper')];
    const { session_id } = await owner.call('session_manager.create', {});
    await helper.call('session_manager.join', { session_id });
    await helper.call('agent_registry.unregister', { leave: true });
    const { members } = await owner.call('session_manager.get', { session_id });
    expect(members.map(({ agent_id }) => agent_id)).toEqual(['owner']);
  });

  it('forgets those who are gone for longest when there is no room, but not whose their names are', async () => {
    await using world = new World({ limits: { agents: 3 } });
    for (const agentId of ['first', 'second']) {
      await world.agent(agentId);
      await world.advance(10);
    }
    await world.advance(2 * BEAT_MS);
    await world.agent('third');
    const list = async () => {
      const { agents } = await world.connect().call('agent_registry.list', {});
      return agents.map(({ agent_id }) => agent_id).sort();
    };
    await world.agent('fourth');
    expect(await list()).toEqual(['fourth', 'second', 'third']);
    const thief = world.connect('elsewhere');
    const named = { agent_id: 'first', capabilities: [] };
    expect((await thief.refused('agent_registry.register', named)).code).toBe(-32001);
    await world.agent('first');
    expect(await list()).toEqual(['first', 'fourth', 'third']);
    const more = { agent_id: 'second', capabilities: [] };
    expect(await world.connect().refused('agent_registry.register', more)).toMatchObject({
      code: -32016,
      data: { limit: 'agents', allowed: 3 },
    });
  });

  it('takes leave of those who are gone before it forgets them', async () => {
    await using world = new World({ limits: { agents: 2 } });
    const client = world.connect();
    await client.call('agent_registry.register', { agent_id: 'gone', capabilities: ['search'] });
    const { session_id } = await client.call('session_manager.create', { agent_id: 'gone' });
    world.clock.advance(10 * BEAT_MS);
    await world.agent('a');
    const b = await world.agent('b');
    expect((await b.refused('agent_registry.get', { agent_id: 'gone' })).code).toBe(-32004);
    expect((await world.store.read('capability:search')).entries.size).toBe(0);
    const { entries } = await world.store.read(`session:${session_id}`, ['member/gone']);
    expect(entries.get('member/gone')?.value).toMatchObject({ connected: false });
  });

  it('refuses more agents than there may be', async () => {
    await using world = new World({ limits: { agents: 2 } });
    await world.agent('a');
    await world.agent('b');
    const params = { agent_id: 'c', capabilities: [] };
    expect(await world.connect().refused('agent_registry.register', params)).toMatchObject({
      code: -32016,
      data: { limit: 'agents', allowed: 2 },
    });
    await world.agent('a');
  });
});
