import { FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { createCoordination, REASONS } from '../src/index.ts';
import { MemoryCoordinationStore } from '../src/testing.ts';
import { World } from './support/world.ts';

const discover = (id?: unknown) => ({
  jsonrpc: '2.0',
  method: 'mcp.discover',
  ...(id !== undefined && { id }),
});

describe('JSON-RPC', () => {
  it('answers under string, number and null ids', async () => {
    await using world = new World();
    const { peer } = world.connect();
    for (const id of ['request-id', 7, 0, '', null]) {
      expect(await peer.handle(discover(id))).toMatchObject({ jsonrpc: '2.0', id, result: {} });
    }
  });

  it('answers nothing to notifications, not even to bad ones, and does what they ask', async () => {
    await using world = new World();
    const client = world.connect();
    const notify = (method: string, params: unknown) =>
      client.peer.handle({ jsonrpc: '2.0', method, params });
    expect(await notify('agent_registry.register', { agent_id: 'a', capabilities: [] })).toBe(
      undefined,
    );
    expect((await client.call('agent_registry.get', { agent_id: 'a' })).status).toBe('active');
    expect(await notify('no.such', {})).toBe(undefined);
    expect(await notify('agent_registry.get', {})).toBe(undefined);
    expect(await notify('agent_registry.get', ['a'])).toBe(undefined);
  });

  it('answers a batch in order, without its notifications', async () => {
    await using world = new World();
    const { peer } = world.connect();
    const register = { agent_id: 'a', capabilities: [] };
    const answers = await peer.handle([
      { jsonrpc: '2.0', id: 1, method: 'agent_registry.register', params: register },
      discover(),
      { jsonrpc: '2.0', id: 'two', method: 'agent_registry.heartbeat' },
      17,
      discover(3),
    ]);
    expect(answers).toMatchObject([
      { id: 1, result: { agent_id: 'a' } },
      { id: 'two', result: { status: 'active' } },
      { id: null, error: { code: -32600 } },
      { id: 3, result: { protocol_version: '1.0.0' } },
    ]);
    expect(await peer.handle([discover(), discover()])).toBe(undefined);
    expect(await peer.handle([])).toMatchObject({ id: null, error: { code: -32600 } });
    const many = Array.from({ length: 101 }, (_, id) => discover(id));
    expect(await peer.handle(many)).toMatchObject({ error: { code: -32600 } });
  });

  it('refuses what is no request', async () => {
    await using world = new World();
    const { peer } = world.connect();
    for (const message of [
      null,
      'text',
      17,
      {},
      { id: 1, method: 'mcp.discover' },
      { jsonrpc: '1.0', id: 1, method: 'mcp.discover' },
      { jsonrpc: '2.0', id: 1 },
      { jsonrpc: '2.0', id: 1, method: 17 },
      { jsonrpc: '2.0', method: 1, params: 'bar' },
      { jsonrpc: '2.0', id: {}, method: 'mcp.discover' },
    ]) {
      expect(await peer.handle(message), JSON.stringify(message)).toMatchObject({
        error: { code: -32600, message: 'Invalid Request', data: { details: expect.any(String) } },
      });
    }
    const reply = await peer.reply(discover(1));
    expect(JSON.parse(reply?.toText() ?? '')).toMatchObject({ id: 1 });
    expect(await peer.reply(discover())).toBe(undefined);
  });

  it('[C11] gives JSON-RPC codes with details, for protocol and services alike', async () => {
    await using world = new World({ limits: { sessions_per_agent: 1 } });
    const [a, b] = [await world.agent('a'), await world.agent('b', 'elsewhere')];
    const { session_id } = await a.call('session_manager.create', { open: true });
    await b.call('session_manager.join', { session_id });
    const stale = await world.agent('c');
    await world.agent('c');
    const { version } = await a.call('context_coordinator.update', {
      session_id,
      update: { a: 1 },
      with_lock: true,
    });
    await a.call('memory_locker.acquire', { session_id });
    const update = { session_id, update: {} };
    const cases = [
      [-32601, 'Method not found', b.refused('agent_registry.send', {})],
      [-32602, 'Invalid params', b.refused('session_manager.get', { session_id: 7 })],
      [-32001, 'Not authorised', b.refused('session_manager.list', { agent_id: 'a' })],
      [-32004, 'Not found', b.refused('session_manager.get', { session_id: 'none' })],
      [-32013, 'Conflict', b.refused('session_manager.create', { session_id })],
      [-32014, 'Lock required or held', b.refused('context_coordinator.update', update)],
      [-32015, 'Stale token or epoch', stale.refused('agent_registry.heartbeat', {})],
      [-32016, 'Quota exceeded', a.refused('session_manager.create', {})],
    ] as const;
    for (const [code, message, refused] of cases) {
      expect(await refused).toMatchObject({ code, message, data: { details: expect.any(String) } });
    }
    expect(version).toBeGreaterThan(0);
    const codes = new Set(Object.values(REASONS).map(({ rpc }) => rpc));
    expect([...codes].sort()).toEqual(cases.map(([code]) => code).sort());
  });

  it('keeps the text of a bug in the log, and says which store is out of reach', async () => {
    const store = new MemoryCoordinationStore();
    const lines: unknown[] = [];
    const log = {
      debug: () => {},
      info: () => {},
      warn: (fields: unknown) => lines.push(fields),
      error: (fields: unknown) => lines.push(fields),
      child: () => log,
    };
    const coordination = createCoordination({ store, log });
    const peer = coordination.connect({ principal: { id: 'ci' } });
    store.read = () => Promise.reject(new Error('secret'));
    const answer = await peer.handle({ jsonrpc: '2.0', id: 1, method: 'agent_registry.list' });
    expect(answer).toMatchObject({ error: { code: -32603, message: 'Internal error' } });
    expect(JSON.stringify(answer)).not.toContain('secret');
    expect(lines).toMatchObject([{ method: 'agent_registry.list', error: { code: 'INTERNAL' } }]);
    store.check = () =>
      Promise.reject(
        new FabricError('OVERLOADED', 'The store cannot be reached', {
          details: { reason: 'engine_unavailable' },
        }),
      );
    expect(await peer.handle({ jsonrpc: '2.0', id: 2, method: 'mcp.status' })).toMatchObject({
      error: { code: -32010, data: { reason: 'engine_unavailable' } },
    });
    await coordination.close();
  });

  it('says whether it can do its work', async () => {
    await using world = new World();
    expect(await world.connect().call('mcp.status', {})).toMatchObject({ ok: true });
  });

  it('takes the agent registered on a connection for the caller, the last if there are several', async () => {
    await using world = new World();
    const client = world.connect();
    const register = (agent_id: string) =>
      client.call('agent_registry.register', { agent_id, capabilities: [] });
    await register('a');
    await register('b');
    const { session_id } = await client.call('session_manager.create', {});
    const created_by = async () =>
      (await client.call('session_manager.get', { session_id })).created_by;
    expect(await created_by()).toBe('b');
    await client.call('session_manager.join', { session_id, agent_id: 'a' });
    await client.call('agent_registry.unregister', { agent_id: 'b' });
    expect(await created_by()).toBe('b');
    const { role } = await client.call('session_manager.get', { session_id });
    expect(role).toBe('writer');
  });

  it('does a request with an idempotency key once, whatever the method', async () => {
    await using world = new World();
    const client = await world.agent('a');
    const once = { idempotency_key: 'k-1', metadata: { n: 1 } };
    const first = await client.call('session_manager.create', once);
    expect(await client.call('session_manager.create', once)).toEqual(first);
    const { sessions } = await client.call('session_manager.list', {});
    expect(sessions).toHaveLength(1);
    const changed = { ...once, metadata: { n: 2 } };
    expect(await client.refused('session_manager.create', changed)).toMatchObject({
      code: -32602,
      data: { reason: 'idempotency_key_reused' },
    });
    const traced = { ...once, trace_id: 'another-trace' };
    expect(await client.call('session_manager.create', traced)).toEqual(first);
    const other = await world.agent('b');
    expect((await other.call('session_manager.create', once)).session_id).not.toBe(
      first.session_id,
    );
    const failing = { session_id: 'later', idempotency_key: 'k-2' };
    await client.refused('session_manager.join', failing);
    await client.call('session_manager.create', { session_id: 'later' });
    await client.call('session_manager.join', failing);
  });

  it('knows the agent on a connection also from an answer that is given again', async () => {
    await using world = new World();
    const params = { agent_id: 'a', capabilities: [], idempotency_key: 'k' };
    const [first, second] = [world.connect(), world.connect()];
    const registered = await first.call('agent_registry.register', params);
    expect(await second.call('agent_registry.register', params)).toEqual(registered);
    const { session_id } = await second.call('session_manager.create', {});
    const { created_by } = await second.call('session_manager.get', { session_id });
    expect(created_by).toBe('a');
  });

  it('does not take principals for one another whose names look alike', async () => {
    await using world = new World();
    for (const principal of ['a b', 'a-b', 'a/b', 'ünï']) {
      const agent_id = `agent-${Buffer.from(principal).toString('hex')}`;
      await world.connect(principal).call('session_manager.create', { agent_id });
      const { sessions } = await world.connect(principal).call('session_manager.list', {});
      expect(sessions).toHaveLength(1);
    }
  });

  it('does not repeat a request whose outcome is unknown', async () => {
    await using world = new World();
    const client = await world.agent('a');
    const { session_id } = await client.call('session_manager.create', { mode: 'cas' });
    const commit = world.store.commit.bind(world.store);
    let isLost = true;
    world.store.commit = async (partition, request) => {
      const result = await commit(partition, request);
      const isCheckpoint = request.writes.some(({ key }) => key.startsWith('checkpoint/'));
      if (!isCheckpoint || !isLost) return result;
      isLost = false;
      throw new FabricError('OVERLOADED', 'The store does not answer');
    };
    const once = { session_id, idempotency_key: 'k' };
    expect((await client.refused('session_manager.checkpoint', once)).code).toBe(-32010);
    expect(await client.refused('session_manager.checkpoint', once)).toMatchObject({
      code: -32013,
      data: { reason: 'outcome_unknown' },
    });
    const { checkpoints } = await client.call('session_manager.checkpoints', { session_id });
    expect(checkpoints).toHaveLength(1);
  });

  it('tells a repeated request that the first is still under way', async () => {
    await using world = new World();
    const client = await world.agent('a');
    const params = { idempotency_key: 'k' };
    const create = (id: number) =>
      client.peer.handle({ jsonrpc: '2.0', id, method: 'session_manager.create', params });
    const answers = await Promise.all([create(1), create(2)]);
    expect(answers).toContainEqual(
      expect.objectContaining({
        error: expect.objectContaining({
          code: -32013,
          data: expect.objectContaining({ reason: 'in_progress' }),
        }),
      }),
    );
    const { sessions } = await client.call('session_manager.list', {});
    expect(sessions).toHaveLength(1);
  });
});
