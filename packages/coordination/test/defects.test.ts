// Eleven defects of an earlier implementation of this protocol. Each is named after what went wrong.

import { sha256Hex } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import type { CoordinationStore } from '../src/coordination-store.ts';
import { createCoordination } from '../src/index.ts';
import { Client, World } from './support/world.ts';

async function open(world: World, agentIds: string[], mode: 'lock' | 'cas' = 'lock') {
  const clients: Client[] = [];
  for (const agentId of agentIds) clients.push(await world.agent(agentId));
  const [first, ...others] = clients as [Client, ...Client[]];
  const { session_id } = await first.call('session_manager.create', { mode });
  for (const client of others) await client.call('session_manager.join', { session_id });
  return { session_id, clients };
}

async function take(
  client: Client,
  params: { session_id: string; ttl_ms?: number; wait_ms?: number },
) {
  const granted = await client.call('memory_locker.acquire', params);
  return 'lock_token' in granted ? granted.lock_token : expect.fail('not granted');
}

describe('does not happen', () => {
  it('1: two agents are both granted an exclusive lock', async () => {
    await using world = new World();
    const ids = Array.from({ length: 20 }, (_, n) => `agent-${n}`);
    const { session_id } = await open(world, ids);
    const gateways = [world.coordination, world.another(), world.another()];
    const answers = await Promise.all(
      ids.map((agent_id, n) =>
        gateways[n % 3]?.connect({ principal: { id: 'ci' } }).handle({
          jsonrpc: '2.0',
          id: n,
          method: 'memory_locker.acquire',
          params: { session_id, agent_id },
        }),
      ),
    );
    expect(answers.filter((answer) => answer && 'result' in answer)).toHaveLength(1);
    for (const gateway of gateways.slice(1)) await gateway.close();
  });

  it('2: the waiter takes its own grant for a conflict, and an orphan lock remains', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, ['a', 'b']);
    const [a, b] = clients as [Client, Client];
    const held = await take(a, { session_id });
    const waiting = take(b, { session_id, wait_ms: 60_000 });
    await expect
      .poll(async () => (await a.call('memory_locker.status', { session_id })).waiting)
      .toHaveLength(1);
    await a.call('memory_locker.release', { session_id, lock_token: held });
    const lock_token = await waiting;
    await b.call('context_coordinator.update', { session_id, update: { by: 'b' }, lock_token });
    await b.call('memory_locker.release', { session_id, lock_token });
    expect((await a.call('memory_locker.status', { session_id })).locked).toBe(false);
  });

  it('3: concurrent waiters lose each other', async () => {
    await using world = new World();
    const ids = Array.from({ length: 25 }, (_, n) => `agent-${n}`);
    const { session_id, clients } = await open(world, ids);
    const served: string[] = [];
    await Promise.all(
      clients.map(async (client) => {
        const lock_token = await take(client, { session_id, wait_ms: 600_000 });
        served.push(client.agentId);
        const { context } = await client.call('context_coordinator.get', { session_id });
        const n = Number(context.n ?? 0) + 1;
        await client.call('context_coordinator.update', { session_id, update: { n }, lock_token });
        await client.call('memory_locker.release', { session_id, lock_token });
      }),
    );
    expect(served.sort()).toEqual([...ids].sort());
    const { context } = await (clients[0] as Client).call('context_coordinator.get', {
      session_id,
    });
    expect(context.n).toBe(25);
  });

  it('4: "a" releases the lock of "ab", a late writer overwrites, a busy lock fails at once', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, ['a', 'ab']);
    const [a, ab] = clients as [Client, Client];
    const late = await take(ab, { session_id, ttl_ms: 1_000 });
    for (const method of ['memory_locker.release', 'memory_locker.renew']) {
      expect((await a.refused(method, { session_id, lock_token: late })).code).toBe(-32015);
    }
    const waiting = take(a, { session_id, wait_ms: 60_000 });
    await expect
      .poll(async () => (await a.call('memory_locker.status', { session_id })).waiting)
      .toHaveLength(1);
    await world.advance(1_500);
    const lock_token = await waiting;
    await a.call('context_coordinator.update', { session_id, update: { by: 'a' }, lock_token });
    await a.call('memory_locker.release', { session_id, lock_token });
    const write = { session_id, update: { by: 'a paused writer' }, lock_token: late };
    expect((await ab.refused('context_coordinator.update', write)).code).toBe(-32015);
    const { context } = await a.call('context_coordinator.get', { session_id });
    expect(context).toEqual({ by: 'a' });
  });

  it('5: joining and leaving lose a concurrent update', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, ['writer'], 'cas');
    const writer = clients[0] as Client;
    const guests: Client[] = [];
    for (let n = 0; n < 10; n += 1) guests.push(await world.agent(`guest-${n}`));
    const comeAndGo = guests.map(async (guest) => {
      await guest.call('session_manager.join', { session_id });
      await guest.call('context_coordinator.update', {
        session_id,
        update: { [guest.agentId]: true },
      });
      await guest.call('session_manager.leave', { session_id });
    });
    const writes = Array.from({ length: 50 }, (_, n) =>
      writer.call('context_coordinator.update', { session_id, update: { [`key-${n}`]: n } }),
    );
    await Promise.all([...comeAndGo, ...writes]);
    const { context } = await writer.call('context_coordinator.get', { session_id });
    expect(Object.keys(context)).toHaveLength(60);
    const { members } = await writer.call('session_manager.get', { session_id });
    expect(members.map(({ agent_id }) => agent_id)).toEqual(['writer']);
  });

  it('6: more than a hundred notices at once are lost, and two events carry one version', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, ['a', 'b'], 'cas');
    const [a, b] = clients as [Client, Client];
    const { cursor } = await b.call('context_coordinator.subscribe', { session_id });
    await Promise.all(
      Array.from({ length: 500 }, (_, n) =>
        a.call('context_coordinator.update', { session_id, update: { [`key-${n % 7}`]: n } }),
      ),
    );
    await expect.poll(() => b.pushed('context_coordinator.update')).toHaveLength(500);
    const versions = b.pushed('context_coordinator.update').map(({ version }) => Number(version));
    expect(versions).toEqual(Array.from({ length: 500 }, (_, n) => cursor + 1 + n));
    const pages: number[] = [];
    for (let after = cursor; ; ) {
      const params = { session_id, after, limit: 70 };
      const page = await b.call('context_coordinator.history', params);
      if (page.events.length === 0) break;
      pages.push(...page.events.map(({ version }) => version));
      after = page.cursor;
    }
    expect(pages).toEqual(versions);
  });

  it('7: a healthy agent stops being found by its capability', async () => {
    await using world = new World();
    const client = world.connect();
    const agent = { agent_id: 'healthy', capabilities: ['plan'] };
    await client.call('agent_registry.register', agent);
    for (let minute = 0; minute < 60; minute += 1) {
      for (const _ of [1, 2]) {
        await world.advance(30_000);
        await client.call('agent_registry.heartbeat', {});
      }
      const { agents } = await client.call('agent_registry.find', { capability: 'plan' });
      expect(agents.map(({ agent_id }) => agent_id)).toEqual(['healthy']);
    }
  });

  it('8: the sweep never finds a lost agent, and no member is notified', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, ['lost', 'b']);
    const b = clients[1] as Client;
    await world.advance(30_000);
    await b.call('agent_registry.heartbeat', {});
    await world.advance(30_000);
    await expect
      .poll(() => b.pushed('session_manager.agent_disconnected'))
      .toMatchObject([{ session_id, agent_id: 'lost', reason: 'heartbeat_missed' }]);
    const { agents } = await b.call('agent_registry.list', { status: 'inactive' });
    expect(agents.map(({ agent_id }) => agent_id)).toEqual(['lost']);
  });

  it('9: locks outlive their session, its deletion is lost on a restart, and expiry takes a minute each', async () => {
    await using world = new World({ heartbeatIntervalMs: 86_400_000 });
    const client = await world.agent('a');
    const ids = Array.from({ length: 50 }, (_, n) => `session-${n}`);
    for (const session_id of ids) {
      await client.call('session_manager.create', { session_id, ttl_ms: 60_000 });
      await take(client, { session_id, ttl_ms: 3_600_000 });
    }
    await client.call('session_manager.end', { session_id: 'session-0' });
    expect(await world.store.leases('session:session-0')).toEqual([]);
    await world.coordination.close();
    const restarted = world.another();
    world.clock.advance(61_000);
    await restarted.sweep();
    for (const id of ids) expect(await world.store.leases(`session:${id}`)).toEqual([]);
    world.clock.advance(61_000);
    await restarted.sweep();
    const left = await Promise.all(ids.map((id) => world.store.read(`session:${id}`)));
    expect(left.every(({ entries }) => entries.size === 0)).toBe(true);
    expect((await world.store.read('sessions')).entries.size).toBe(0);
    await restarted.close();
  });

  it('10: looking up a lock or an agent reads everything there is', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, ['a']);
    const a = clients[0] as Client;
    for (let n = 0; n < 200; n += 1) {
      await world.agent(`other-${n}`);
      await a.call('memory_locker.acquire', { session_id, resource: `resource-${n}` });
    }
    const rare = { agent_id: 'rare', capabilities: ['rare'] };
    await world.connect().call('agent_registry.register', rare);
    const { store, seen } = counted(world.store);
    const coordination = createCoordination({ store, clock: world.clock });
    const client = new Client(coordination, { principal: 'ci' });
    for (const [method, params] of [
      ['agent_registry.find', { capability: 'rare' }],
      ['agent_registry.get', { agent_id: 'other-7' }],
      ['memory_locker.status', { agent_id: 'a', session_id, resource: 'resource-7' }],
    ] as const) {
      seen.items = 0;
      await client.call(method, params);
      expect([method, seen.items < 20]).toEqual([method, true]);
    }
    await coordination.close();
  });

  it('11: no process finds what another has cached, and errors are swallowed', async () => {
    await using world = new World();
    const writer = await world.agent('writer');
    const params = { b: [1, { z: null, a: 'ü' }], a: 1e21 };
    const { key } = await writer.call('tool_cache.put', { tool: 't', params, result: 'x' });
    const canonical = '["t","",{"a":1e+21,"b":[1,{"a":"ü","z":null}]}]';
    expect(key).toBe(sha256Hex(canonical));
    const restarted = world.another();
    const reader = new Client(restarted, { principal: 'ci' });
    const reordered = { a: 1e21, b: [1, { a: 'ü', z: null }] };
    const found = await reader.call('tool_cache.get', { tool: 't', params: reordered });
    expect(found).toMatchObject({ hit: true, result: 'x' });
    const stale = { tool: 't', params, result: 'y', claim: 1 };
    expect((await reader.refused('tool_cache.put', stale)).code).toBe(-32015);
    await restarted.close();
  });
});

/** The same store, and how many entries, leases and places it has handed out. */
function counted(inner: CoordinationStore) {
  const seen = { items: 0 };
  const store: CoordinationStore = {
    commit: (...args) => inner.commit(...args),
    acquire: (...args) => inner.acquire(...args),
    acquireAndCommit: (...args) => inner.acquireAndCommit(...args),
    renew: (...args) => inner.renew(...args),
    release: (...args) => inner.release(...args),
    breakLease: (...args) => inner.breakLease(...args),
    cancelWait: (...args) => inner.cancelWait(...args),
    deadlock: (...args) => inner.deadlock(...args),
    events: (...args) => inner.events(...args),
    watch: (...args) => inner.watch(...args),
    tick: () => inner.tick(),
    check: () => inner.check(),
    size: (partitions) => inner.size(partitions),
    drop: (partition) => inner.drop(partition),
    close: () => inner.close(),
    async read(...args) {
      const snapshot = await inner.read(...args);
      seen.items += snapshot.entries.size;
      return snapshot;
    },
    async leases(...args) {
      const leases = await inner.leases(...args);
      seen.items += leases.length;
      return leases;
    },
    async waiting(...args) {
      const places = await inner.waiting(...args);
      seen.items += places.length;
      return places;
    },
  };
  return { store, seen };
}
