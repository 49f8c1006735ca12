import { expect, it } from 'vitest';
import { partitionOf } from '../src/partitions.ts';
import { type Client, World } from './support/world.ts';

const BEAT_MS = 30_000;

async function inSession(world: World, ...agentIds: string[]) {
  const clients = await Promise.all(agentIds.map((agentId) => world.agent(agentId)));
  const [owner, ...others] = clients as [Client, ...Client[]];
  const { session_id } = await owner.call('session_manager.create', {});
  for (const client of others) await client.call('session_manager.join', { session_id });
  return { session_id, clients };
}

const beat = (...clients: Client[]) =>
  Promise.all(clients.map((client) => client.call('agent_registry.heartbeat', {})));

it('[C4] marks an agent inactive after a missed beat and tells every other member in time', async () => {
  await using world = new World();
  const { session_id, clients } = await inSession(world, 'a', 'b', 'c');
  const [a, b, c] = clients as [Client, Client, Client];
  await beat(a, b, c);
  const lastSeen = world.clock.now();
  let toldAfter = 0;
  while (b.pushed('session_manager.agent_disconnected').length === 0) {
    await world.advance(500);
    toldAfter += 500;
    if (toldAfter % BEAT_MS === 0) await beat(b, c);
    if (toldAfter > 10 * BEAT_MS) return expect.fail('nobody was told');
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(toldAfter).toBeGreaterThan(BEAT_MS);
  expect(toldAfter).toBeLessThanOrEqual(2 * BEAT_MS + 2_000);
  const notice = { session_id, agent_id: 'a', reason: 'heartbeat_missed', last_seen: lastSeen };
  for (const member of [b, c]) {
    await expect
      .poll(() => member.pushed('session_manager.agent_disconnected'))
      .toEqual([expect.objectContaining(notice)]);
  }
  expect(a.pushed('session_manager.agent_disconnected')).toEqual([]);
  const { status, last_seen } = await b.call('agent_registry.get', { agent_id: 'a' });
  expect({ status, last_seen }).toEqual({ status: 'inactive', last_seen: lastSeen });
  const { members } = await b.call('session_manager.get', { session_id });
  expect(members.map(({ agent_id, connected }) => [agent_id, connected])).toEqual([
    ['a', false],
    ['b', true],
    ['c', true],
  ]);
});

it('shows an agent as inactive as soon as its time is over, before a sweep', async () => {
  await using world = new World();
  const client = await world.agent('a');
  world.clock.advance(2 * BEAT_MS);
  const { status } = await client.call('agent_registry.get', { agent_id: 'a' });
  expect(status).toBe('inactive');
});

it('[C13] keeps the session whole when an agent fails: its locks and places go to the others', async () => {
  await using world = new World();
  const { session_id, clients } = await inSession(world, 'a', 'b', 'c');
  const [a, b, c] = clients as [Client, Client, Client];
  const lock = { session_id, ttl_ms: 3_600_000 };
  const held = await a.call('memory_locker.acquire', lock);
  await a.call('context_coordinator.update', {
    session_id,
    update: { part: 'by a' },
    lock_token: 'lock_token' in held ? held.lock_token : 0,
  });
  await b.call('memory_locker.acquire', { ...lock, resource: 'figures' });
  const queued = { ...lock, resource: 'figures', wait_ms: 600_000, async: true };
  await a.call('memory_locker.acquire', queued);
  await c.call('memory_locker.acquire', { ...lock, wait_ms: 600_000, async: true });
  for (let n = 0; n < 3; n += 1) {
    await world.advance(BEAT_MS / 2);
    await beat(b, c);
  }
  await world.advance(BEAT_MS / 2);
  await expect.poll(() => c.pushed('memory_locker.granted')).toHaveLength(1);
  const [granted] = c.pushed('memory_locker.granted');
  const { locks, waiting } = await b.call('memory_locker.status', { session_id });
  expect(locks.map(({ resource, holder }) => [resource, holder]).sort()).toEqual([
    ['context', 'c'],
    ['figures', 'b'],
  ]);
  expect(waiting).toEqual([]);
  await c.call('context_coordinator.update', {
    session_id,
    update: { part: 'by a, finished by c' },
    lock_token: Number(granted?.lock_token),
  });
  const { context } = await b.call('context_coordinator.get', { session_id });
  expect(context).toEqual({ part: 'by a, finished by c' });
});

it('tells the others once, however many processes see the loss', async () => {
  await using world = new World();
  const { clients } = await inSession(world, 'a', 'b');
  const b = clients[1] as Client;
  const others = [world.another(), world.another()];
  await world.advance(BEAT_MS);
  await beat(b);
  world.clock.advance(BEAT_MS);
  await Promise.all([world.coordination, ...others].map((gateway) => gateway.sweep()));
  await Promise.all(others.map((gateway) => gateway.sweep()));
  await expect.poll(() => b.pushed('session_manager.agent_disconnected')).toHaveLength(1);
  for (const gateway of others) await gateway.close();
  const events = await b.call('context_coordinator.events', {
    session_id: String(b.pushed('session_manager.agent_disconnected')[0]?.session_id),
    types: ['session.agent_disconnected'],
  });
  expect(events.events).toHaveLength(1);
});

it('keeps a new registration when the loss of the old one is handled late', async () => {
  await using world = new World();
  const { session_id, clients } = await inSession(world, 'a', 'b');
  const b = clients[1] as Client;
  const late = world.another();
  await late.sweep();
  await world.advance(BEAT_MS);
  await beat(b);
  await world.advance(BEAT_MS);
  const again = await world.agent('a');
  await late.sweep();
  await again.call('context_coordinator.update', { session_id, update: {}, with_lock: true });
  const { members } = await b.call('session_manager.get', { session_id });
  expect(members.find(({ agent_id }) => agent_id === 'a')?.connected).toBe(true);
  expect(b.pushed('session_manager.agent_disconnected')).toHaveLength(1);
  await late.close();
});

it('notifies the others of a loss also when the agent is back before the sweep', async () => {
  await using world = new World();
  const { clients } = await inSession(world, 'a', 'b');
  const b = clients[1] as Client;
  world.clock.advance(BEAT_MS);
  await beat(b);
  world.clock.advance(BEAT_MS);
  await world.agent('a');
  await expect
    .poll(() => b.pushes.map(({ method }) => method).slice(-2))
    .toEqual(['session_manager.agent_disconnected', 'session_manager.agent_joined']);
});

it('handles more losses than the log can hold', async () => {
  await using world = new World({ keepEvents: 5 });
  const ids = Array.from({ length: 20 }, (_, n) => `agent-${n}`);
  const { session_id } = await inSession(world, 'owner', ...ids);
  await world.coordination.close();
  world.clock.advance(10 * BEAT_MS);
  const later = world.another();
  await later.sweep();
  const owner = world.connect('ci', { coordination: later });
  await owner.call('agent_registry.register', { agent_id: 'owner', capabilities: [] });
  const { members } = await owner.call('session_manager.get', { session_id });
  expect(members.filter(({ connected }) => connected).map(({ agent_id }) => agent_id)).toEqual([
    'owner',
  ]);
  await later.close();
});

it('handles losses that happened while no process was running', async () => {
  await using world = new World();
  const { session_id } = await inSession(world, 'a', 'b');
  await world.coordination.close();
  world.clock.advance(10 * BEAT_MS);
  const later = world.another();
  await later.sweep();
  const b = world.connect('ci', { coordination: later });
  await b.call('agent_registry.register', { agent_id: 'b', capabilities: [] });
  const { members } = await b.call('session_manager.get', { session_id });
  expect(members.find(({ agent_id }) => agent_id === 'a')?.connected).toBe(false);
  await later.close();
});

it('refuses everything under an old epoch once the agent has returned', async () => {
  await using world = new World();
  const { session_id, clients } = await inSession(world, 'a', 'b');
  const [before, b] = clients as [Client, Client];
  const held = await before.call('memory_locker.acquire', { session_id });
  const lock_token = 'lock_token' in held ? held.lock_token : 0;
  const after = await world.agent('a');
  expect(after.epoch).toBeGreaterThan(before.epoch);
  const update = { session_id, update: { x: 1 } };
  for (const [method, params] of [
    ['agent_registry.heartbeat', {}],
    ['agent_registry.unregister', {}],
    ['context_coordinator.get', { session_id }],
    ['context_coordinator.update', { ...update, lock_token }],
    ['context_coordinator.update', { ...update, with_lock: true }],
    ['memory_locker.acquire', { session_id }],
    ['memory_locker.renew', { session_id, lock_token }],
    ['memory_locker.release', { session_id, lock_token }],
    ['session_manager.join', { session_id }],
    ['session_manager.create', {}],
  ] as const) {
    expect(await before.refused(method, params), method).toMatchObject({ code: -32015 });
  }
  const old = { agent_id: 'a', epoch: before.epoch };
  const other = world.connect();
  const stale = await other.refused('context_coordinator.update', { ...update, ...old });
  expect(stale).toMatchObject({ code: -32015, data: { reason: 'stale_epoch' } });
  expect((await b.call('memory_locker.status', { session_id })).locked).toBe(false);
  await after.call('context_coordinator.update', { ...update, with_lock: true });
  await expect
    .poll(() => b.pushed('session_manager.agent_joined'))
    .toContainEqual(expect.objectContaining({ agent_id: 'a', returned: true }));
});

it('does not let a lost agent act before it registers again, not even without an epoch', async () => {
  await using world = new World();
  const { session_id, clients } = await inSession(world, 'a', 'b');
  await world.advance(BEAT_MS);
  await beat(clients[1] as Client);
  await world.advance(BEAT_MS);
  const anonymous = world.connect();
  const params = { agent_id: 'a', session_id };
  expect(await anonymous.refused('context_coordinator.get', params)).toMatchObject({
    code: -32015,
  });
  await world.agent('a');
  await anonymous.call('context_coordinator.get', params);
});

it('continues a registration on another connection after a heartbeat with its epoch', async () => {
  await using world = new World();
  const { session_id, clients } = await inSession(world, 'a', 'b');
  const [a, b] = clients as [Client, Client];
  const held = await a.call('memory_locker.acquire', { session_id });
  await a.peer.close();
  const again = world.connect();
  await again.call('agent_registry.heartbeat', { agent_id: 'a', epoch: a.epoch });
  const lock_token = 'lock_token' in held ? held.lock_token : 0;
  await again.call('context_coordinator.update', { session_id, update: { x: 1 }, lock_token });
  await b.call('agent_registry.unregister', {});
  await expect.poll(() => again.pushed('session_manager.agent_disconnected')).toHaveLength(1);
});

it('frees a lock that was granted while its registration ended', async () => {
  await using world = new World();
  const { session_id } = await inSession(world, 'a', 'b');
  const acquire = world.store.acquire.bind(world.store);
  world.store.acquire = async (partition, request) => {
    const answer = await acquire(partition, request);
    if (partition.startsWith('session:')) {
      world.store.acquire = acquire;
      await world.agent('a');
    }
    return answer;
  };
  const unnamed = world.connect();
  const params = { agent_id: 'a', session_id };
  expect((await unnamed.refused('memory_locker.acquire', params)).code).toBe(-32015);
  expect((await unnamed.call('memory_locker.status', params)).locked).toBe(false);
});

it('says that an agent went when it unregisters', async () => {
  await using world = new World();
  const { session_id, clients } = await inSession(world, 'a', 'b');
  const [a, b] = clients as [Client, Client];
  await a.call('memory_locker.acquire', { session_id });
  await a.call('agent_registry.unregister', {});
  await expect
    .poll(() => b.pushed('session_manager.agent_disconnected'))
    .toEqual([expect.objectContaining({ agent_id: 'a', reason: 'unregistered' })]);
  expect((await b.call('memory_locker.status', { session_id })).locked).toBe(false);
});

it('tells nothing more of a session that ended', async () => {
  await using world = new World();
  const { session_id, clients } = await inSession(world, 'a', 'b');
  const [a, b] = clients as [Client, Client];
  await a.call('session_manager.end', { session_id });
  await world.agent('b');
  const { events } = await world.store.events(partitionOf.session(session_id), 0, 100);
  expect(events.at(-1)?.event).toMatchObject({ type: 'session.ended' });
  expect(b.pushed('session_manager.agent_joined')).toEqual([]);
});

it('frees the claims of an ended registration in all caches', async () => {
  for (const how of ['registers again', 'unregisters', 'is lost'] as const) {
    await using world = new World();
    const { session_id, clients } = await inSession(world, 'a', 'b');
    const [a, b] = clients as [Client, Client];
    const name = { tool: 'search', params: { q: how }, claim: true, claim_ttl_ms: 600_000 };
    const scopes = [{ scope: 'principal' }, { scope: 'session', session_id }] as const;
    for (const scope of [...scopes, { scope: 'agent' } as const]) {
      const answer = await a.call('tool_cache.get', { ...name, ...scope });
      expect(answer).toMatchObject({ hit: false, claim: expect.any(Number) });
    }
    for (const scope of scopes) {
      const answer = await b.call('tool_cache.get', { ...name, ...scope });
      expect(answer).toMatchObject({ hit: false, computing: true });
    }
    await world.advance(BEAT_MS);
    await beat(b);
    if (how === 'unregisters') await a.call('agent_registry.unregister', {});
    if (how === 'is lost') await world.advance(BEAT_MS);
    const again = how === 'registers again' ? await world.agent('a') : undefined;
    for (const scope of scopes) {
      const answer = await b.call('tool_cache.get', { ...name, ...scope });
      expect(answer, how).toMatchObject({ hit: false, claim: expect.any(Number) });
    }
    const own = await (again ?? (await world.agent('a'))).call('tool_cache.get', {
      ...name,
      scope: 'agent',
    });
    expect(own, how).toMatchObject({ hit: false, claim: expect.any(Number) });
  }
});

it('keeps the claims of a new registration when the end of the old one is handled late', async () => {
  await using world = new World();
  const { session_id, clients } = await inSession(world, 'a', 'b');
  const b = clients[1] as Client;
  const before = (clients[0] as Client).epoch;
  world.clock.advance(BEAT_MS);
  const after = await world.agent('a');
  world.clock.advance(1);
  const name = { tool: 'search', params: {}, scope: 'session', session_id, claim: true } as const;
  await after.call('tool_cache.get', name);
  await world.coordination.services.presence.retire('a', before, 'heartbeat_missed');
  expect(await b.call('tool_cache.get', name)).toMatchObject({ hit: false, computing: true });
});
