import { describe, expect, it } from 'vitest';
import { type Client, World } from './support/world.ts';

async function open(world: World, ...agentIds: string[]) {
  const clients: Client[] = [];
  for (const agentId of agentIds) clients.push(await world.agent(agentId));
  const [first, ...others] = clients as [Client, ...Client[]];
  const { session_id } = await first.call('session_manager.create', {});
  for (const client of others) await client.call('session_manager.join', { session_id });
  return { session_id, clients };
}

type AcquireParams = Parameters<typeof Client.prototype.call<'memory_locker.acquire'>>[1];

async function acquire(client: Client, params: AcquireParams) {
  const granted = await client.call('memory_locker.acquire', params);
  if (!('lock_token' in granted)) return expect.fail('not granted');
  return granted;
}

/** A lock that somebody else holds, and a request that waits for it for minutes. */
async function waitBehind(world: World) {
  const { session_id, clients } = await open(world, 'owner', 'waiter');
  const [owner, waiter] = clients as [Client, Client];
  await acquire(owner, { session_id, ttl_ms: 3_600_000 });
  const answer = waiter.refused('memory_locker.acquire', { session_id, wait_ms: 600_000 });
  const places = async () => (await owner.call('memory_locker.status', { session_id })).waiting;
  await expect.poll(places).toHaveLength(1);
  return { session_id, owner, waiter, answer, places };
}

describe('memory locker', () => {
  it('[C7] acquires, renews, releases, shows and waits for locks', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a', 'b');
    const [a, b] = clients as [Client, Client];
    const { lock_token, expires_at } = await acquire(a, { session_id, ttl_ms: 1_000 });
    expect(expires_at).toBe(world.clock.now() + 1_000);
    expect(await b.call('memory_locker.status', { session_id })).toEqual({
      locked: true,
      locks: [{ resource: 'context', mode: 'exclusive', holder: 'a', expires_at }],
      waiting: [],
    });
    const waiting = acquire(b, { session_id, wait_ms: 60_000 });
    await expect
      .poll(async () => (await a.call('memory_locker.status', { session_id })).waiting)
      .toMatchObject([{ resource: 'context', holder: 'b', position: 1 }]);
    world.clock.advance(700);
    const renewed = await a.call('memory_locker.renew', { session_id, lock_token, ttl_ms: 5_000 });
    expect(renewed).toMatchObject({ lock_token, expires_at: world.clock.now() + 5_000 });
    await world.advance(700);
    expect((await a.call('memory_locker.status', { session_id })).locks).toMatchObject([
      { holder: 'a', lock_token },
    ]);
    await a.call('memory_locker.release', { session_id, lock_token });
    expect((await waiting).lock_token).toBeGreaterThan(lock_token);
    const { locks } = await a.call('memory_locker.status', { session_id, holder: 'b' });
    expect(locks).toMatchObject([{ holder: 'b' }]);
  });

  it('refuses a held lock at once when the caller does not wait', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a', 'b');
    const [a, b] = clients as [Client, Client];
    const { expires_at } = await acquire(a, { session_id });
    expect(await b.refused('memory_locker.acquire', { session_id })).toMatchObject({
      code: -32014,
      data: { reason: 'lock_held', holder: 'a', expires_at },
    });
    await acquire(b, { session_id, resource: 'other' });
  });

  it('stops waiting when the time is over and leaves no place in the queue', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a', 'b');
    const [a, b] = clients as [Client, Client];
    await acquire(a, { session_id });
    const error = await b.refused('memory_locker.acquire', { session_id, wait_ms: 30 });
    expect(error).toMatchObject({ code: -32014, data: { holder: 'a', waited_ms: 30 } });
    expect(error.data.fix).not.toContain('wait_ms');
    expect((await a.call('memory_locker.status', { session_id })).waiting).toEqual([]);
  });

  it('leaves no place in the queue for a client that is gone', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a', 'b');
    const [a, b] = clients as [Client, Client];
    const { lock_token } = await acquire(a, { session_id });
    const waiting = b.refused('memory_locker.acquire', { session_id, wait_ms: 600_000 });
    await expect
      .poll(async () => (await a.call('memory_locker.status', { session_id })).waiting)
      .toHaveLength(1);
    await b.peer.close();
    await waiting;
    expect((await a.call('memory_locker.status', { session_id })).waiting).toEqual([]);
    await a.call('memory_locker.release', { session_id, lock_token });
    expect((await a.call('memory_locker.status', { session_id })).locked).toBe(false);
  });

  it('answers a waiter at once when the session is suspended or ends', async () => {
    for (const [method, expected] of [
      ['session_manager.suspend', { code: -32013, data: { reason: 'session_suspended' } }],
      ['session_manager.end', { code: -32004, data: { reason: 'not_found' } }],
    ] as const) {
      await using world = new World();
      const { session_id, owner, answer } = await waitBehind(world);
      await owner.call(method, { session_id });
      expect(await answer, method).toMatchObject(expected);
    }
  });

  it('answers a waiter at once when it is taken out of the session, or goes', async () => {
    for (const [method, who, params] of [
      ['session_manager.revoke', 'owner', { member: 'waiter' }],
      ['session_manager.leave', 'waiter', {}],
    ] as const) {
      await using world = new World();
      const { session_id, answer, places, ...clients } = await waitBehind(world);
      await clients[who].call(method, { session_id, ...params });
      expect(await answer, method).toMatchObject({ code: -32004, data: { reason: 'not_found' } });
      expect(await places()).toEqual([]);
    }
  });

  it('answers a waiter at once when its registration ends', async () => {
    for (const end of [
      async (world: World) => void (await world.agent('waiter')),
      async (_: World, waiter: Client) => void (await waiter.call('agent_registry.unregister', {})),
      async (world: World, _: Client, owner: Client) => {
        await world.advance(30_000);
        await owner.call('agent_registry.heartbeat', {});
        await world.advance(30_000);
      },
    ]) {
      await using world = new World();
      const { owner, waiter, answer, places } = await waitBehind(world);
      await end(world, waiter, owner);
      expect(await answer).toMatchObject({ code: -32015, data: { reason: 'stale_epoch' } });
      expect(await places()).toEqual([]);
    }
  });

  it('answers a waiter at once when it may not have the lock any more', async () => {
    await using world = new World();
    const { session_id, owner, answer, places } = await waitBehind(world);
    await owner.call('session_manager.grant', { session_id, member: 'waiter', role: 'reader' });
    expect(await answer).toMatchObject({ code: -32001, data: { reason: 'role_too_low' } });
    expect(await places()).toEqual([]);
  });

  it('answers a waiter at once when its place is given up, also on another gateway', async () => {
    await using world = new World();
    const elsewhere = world.another();
    const { session_id, waiter, answer } = await waitBehind(world);
    const again = world.connect('ci', { coordination: elsewhere });
    const own = { agent_id: 'waiter', epoch: waiter.epoch, session_id };
    const [place] = (await again.call('memory_locker.status', own)).waiting;
    const ticket = place?.ticket ?? '';
    await again.call('memory_locker.cancel', { ...own, ticket });
    expect(await answer).toMatchObject({
      code: -32014,
      data: { reason: 'lock_held', cancelled: true, ticket, holder: 'owner' },
    });
    await elsewhere.close();
  });

  it('refuses to let an agent wait that was a member until lately', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'owner', 'b');
    const [owner, b] = clients as [Client, Client];
    await b.call('memory_locker.status', { session_id });
    await acquire(owner, { session_id });
    const elsewhere = world.another();
    const there = world.connect('ci', { coordination: elsewhere });
    const own = { agent_id: 'owner', epoch: owner.epoch };
    await there.call('session_manager.revoke', { ...own, session_id, member: 'b' });
    const params = { session_id, wait_ms: 600_000 };
    expect((await b.refused('memory_locker.acquire', params)).code).toBe(-32004);
    const { waiting } = await owner.call('memory_locker.status', { session_id });
    expect(waiting).toEqual([]);
    await elsewhere.close();
  });

  it('says who holds a lock, and to the holder that it is the one', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a', 'b');
    const [a, b] = clients as [Client, Client];
    await acquire(a, { session_id });
    const own = await a.refused('memory_locker.acquire', { session_id });
    const other = await b.refused('memory_locker.acquire', { session_id });
    expect(own).toMatchObject({ code: -32014, data: { reason: 'lock_held', holder: 'a' } });
    expect(own.data.details).toMatch(/^You hold .*already/);
    expect(other.data.details).toMatch(/locked by "a"/);
  });

  it('serves waiters by priority, then as they came', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a', 'b', 'c', 'd');
    const [a, b, c, d] = clients as [Client, Client, Client, Client];
    const order: string[] = [];
    let { lock_token } = await acquire(a, { session_id });
    const queue = { session_id, wait_ms: 60_000, async: true };
    await b.call('memory_locker.acquire', queue);
    await c.call('memory_locker.acquire', { ...queue, priority: 5 });
    const last = await d.call('memory_locker.acquire', queue);
    expect(last).toMatchObject({ queued: true, position: 3 });
    let holder = a;
    for (let turn = 0; turn < 3; turn += 1) {
      await holder.call('memory_locker.release', { session_id, lock_token });
      const next = [b, c, d].find((client) => !order.includes(client.agentId));
      if (next === undefined) return expect.fail('nobody left');
      await expect
        .poll(() => [b, c, d].filter((client) => client.pushed('memory_locker.granted').length > 0))
        .toHaveLength(turn + 1);
      const winner = [b, c, d].find(
        (client) =>
          client.pushed('memory_locker.granted').length > 0 && !order.includes(client.agentId),
      );
      if (winner === undefined) return expect.fail('nobody was granted');
      order.push(winner.agentId);
      lock_token = Number(winner.pushed('memory_locker.granted')[0]?.lock_token);
      holder = winner;
    }
    expect(order).toEqual(['c', 'b', 'd']);
  });

  it('pushes the grant with ticket, token and time only to the agent that waited for it', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a', 'b', 'c');
    const [a, b, c] = clients as [Client, Client, Client];
    const { lock_token } = await acquire(a, { session_id });
    const params = { session_id, wait_ms: 60_000, async: true };
    const queued = await b.call('memory_locker.acquire', params);
    await a.call('memory_locker.release', { session_id, lock_token });
    await expect.poll(() => b.pushed('memory_locker.granted')).toHaveLength(1);
    expect(b.pushed('memory_locker.granted')).toMatchObject([
      {
        session_id,
        agent_id: 'b',
        resource: 'context',
        ticket: 'ticket' in queued ? queued.ticket : '',
        expires_at: expect.any(Number),
      },
    ]);
    expect([...a.pushed('memory_locker.granted'), ...c.pushed('memory_locker.granted')]).toEqual(
      [],
    );
  });

  it('tells a holder that its lock is lost, and gives it to the next', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a', 'b');
    const [a, b] = clients as [Client, Client];
    const { lock_token } = await acquire(a, { session_id, ttl_ms: 1_000 });
    const waiting = acquire(b, { session_id, wait_ms: 60_000 });
    await expect
      .poll(async () => (await a.call('memory_locker.status', { session_id })).waiting)
      .toHaveLength(1);
    await world.advance(1_500);
    expect((await waiting).lock_token).toBeGreaterThan(lock_token);
    await expect
      .poll(() => a.pushed('memory_locker.lost'))
      .toMatchObject([{ session_id, resource: 'context', lock_token, reason: 'expired' }]);
    for (const method of ['memory_locker.renew', 'memory_locker.release']) {
      expect(await a.refused(method, { session_id, lock_token })).toMatchObject({
        code: -32015,
        data: { reason: 'stale_token', holder: 'b' },
      });
    }
  });

  it('shares a lock among readers', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a', 'b', 'c');
    const [a, b, c] = clients as [Client, Client, Client];
    await acquire(a, { session_id, mode: 'shared' });
    await acquire(b, { session_id, mode: 'shared' });
    expect((await c.refused('memory_locker.acquire', { session_id })).code).toBe(-32014);
    const { locks } = await c.call('memory_locker.status', { session_id });
    expect(locks).toMatchObject([{ mode: 'shared' }, { mode: 'shared' }]);
  });

  it('refuses the request that would close a circle of waiters, and only that', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a', 'b', 'c');
    const [a, b, c] = clients as [Client, Client, Client];
    await acquire(a, { session_id, resource: 'x' });
    const y = await acquire(b, { session_id, resource: 'y' });
    const z = await acquire(c, { session_id, resource: 'z' });
    const wait = { session_id, wait_ms: 60_000 };
    const first = acquire(a, { ...wait, resource: 'y' });
    await expect
      .poll(async () => (await a.call('memory_locker.status', { session_id })).waiting)
      .toHaveLength(1);
    world.clock.advance(1);
    const second = acquire(b, { ...wait, resource: 'z' });
    await expect
      .poll(async () => (await a.call('memory_locker.status', { session_id })).waiting)
      .toHaveLength(2);
    world.clock.advance(1);
    expect(await c.refused('memory_locker.acquire', { ...wait, resource: 'x' })).toMatchObject({
      code: -32014,
      data: { reason: 'deadlock', circle: ['c', 'a', 'b'] },
    });
    await c.call('memory_locker.release', { session_id, resource: 'z', lock_token: z.lock_token });
    await second;
    await b.call('memory_locker.release', { session_id, resource: 'y', lock_token: y.lock_token });
    await first;
  });

  it('refuses to wait for a lock that the caller itself holds', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a');
    const a = clients[0] as Client;
    await acquire(a, { session_id });
    const again = { session_id, wait_ms: 60_000 };
    for (const how of [{}, { mode: 'shared' }, { async: true }]) {
      const error = await a.refused('memory_locker.acquire', { ...again, ...how });
      expect(error).toMatchObject({ code: -32014, data: { reason: 'lock_held', holder: 'a' } });
      expect(error.data.details).toMatch(/^You hold .*already/);
      expect(error.data.fix).toContain('memory_locker.renew');
    }
    expect((await a.call('memory_locker.status', { session_id })).waiting).toEqual([]);
  });

  it('lets two connections of one agent wait for the same lock, in order', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a');
    const a = clients[0] as Client;
    const { lock_token } = await acquire(a, { session_id });
    const [first, second] = [world.connect(), world.connect()] as const;
    const both = { session_id, agent_id: 'both' };
    await first.call('session_manager.join', both);
    const queue = async () => (await a.call('memory_locker.status', { session_id })).waiting;
    const turns: string[] = [];
    const take = async (client: Client, name: string) => {
      const granted = await acquire(client, { ...both, wait_ms: 600_000 });
      turns.push(name);
      await client.call('memory_locker.release', {
        ...both,
        lock_token: granted.lock_token,
      });
    };
    const waits: Promise<void>[] = [];
    for (const [client, name] of [
      [first, 'first'],
      [second, 'second'],
    ] as const) {
      waits.push(take(client, name));
      await expect.poll(queue).toHaveLength(waits.length);
    }
    await a.call('memory_locker.release', { session_id, lock_token });
    await Promise.all(waits);
    expect(turns).toEqual(['first', 'second']);
  });

  it('never leaves two in a circle, however close they come', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a', 'b');
    const [a, b] = clients as [Client, Client];
    await acquire(a, { session_id, resource: 'x' });
    await acquire(b, { session_id, resource: 'y' });
    const ask = (client: Client, resource: string) =>
      client.peer.handle({
        jsonrpc: '2.0',
        id: resource,
        method: 'memory_locker.acquire',
        params: { session_id, resource, wait_ms: 60_000, async: true },
      });
    const answers = await Promise.all([ask(a, 'y'), ask(b, 'x')]);
    expect(answers.filter((answer) => answer && 'error' in answer).length).toBeGreaterThan(0);
    const { waiting } = await a.call('memory_locker.status', { session_id });
    expect(waiting.length).toBeLessThan(2);
  });

  it('gives up a place, or the lock that it was granted meanwhile', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a', 'b', 'c');
    const [a, b, c] = clients as [Client, Client, Client];
    const { lock_token } = await acquire(a, { session_id });
    const queue = { session_id, wait_ms: 60_000, async: true };
    const [first, second] = [
      await b.call('memory_locker.acquire', queue),
      await c.call('memory_locker.acquire', queue),
    ].map((answer) => ('ticket' in answer ? answer.ticket : ''));
    const cancel = (client: Client, ticket = '') =>
      client.call('memory_locker.cancel', { session_id, ticket });
    expect(await cancel(a, first)).toEqual({ cancelled: false });
    expect(await cancel(b, first)).toEqual({ cancelled: true });
    await a.call('memory_locker.release', { session_id, lock_token });
    expect(await cancel(c, second)).toEqual({ cancelled: true });
    expect(await cancel(c, second)).toEqual({ cancelled: false });
    const { locked, waiting } = await a.call('memory_locker.status', { session_id });
    expect({ locked, waiting }).toEqual({ locked: false, waiting: [] });
  });

  it('lets owners break locks, tells the holder, and keeps a record of it', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'owner', 'b', 'c');
    const [owner, b, c] = clients as [Client, Client, Client];
    const { lock_token } = await acquire(b, { session_id });
    await acquire(b, { session_id, resource: 'other' });
    const waiting = acquire(c, { session_id, wait_ms: 60_000 });
    const target = { session_id, resource: 'context' };
    expect((await c.refused('memory_locker.break', target)).code).toBe(-32001);
    await expect
      .poll(async () => (await owner.call('memory_locker.status', { session_id })).waiting)
      .toHaveLength(1);
    const { broken } = await owner.call('memory_locker.break', target);
    expect(broken).toMatchObject([{ resource: 'context', holder: 'b' }]);
    await waiting;
    await expect
      .poll(() => b.pushed('memory_locker.lost'))
      .toMatchObject([{ lock_token, reason: 'broken' }]);
    const write = { session_id, update: { a: 1 }, lock_token };
    expect((await b.refused('context_coordinator.update', write)).code).toBe(-32015);
    const own = { session_id, lock_token: (await waiting).lock_token };
    expect((await c.call('memory_locker.status', own)).locks).toHaveLength(1);
    expect((await c.call('memory_locker.status', { ...own, lock_token })).locks).toEqual([]);
    const rest = await owner.call('memory_locker.break', { session_id, holder: 'b' });
    expect(rest.broken).toMatchObject([{ resource: 'other' }]);
    const { events } = await owner.call('context_coordinator.events', {
      session_id,
      types: ['lock.broken'],
    });
    expect(events).toMatchObject([
      { agent_id: 'owner', resource: 'context' },
      { agent_id: 'owner', resource: 'other' },
    ]);
  });

  it('answers a repeated request with the same lock', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a', 'b');
    const [a, b] = clients as [Client, Client];
    const once = { session_id, idempotency_key: 'k' };
    const first = await acquire(a, once);
    expect(await acquire(a, once)).toEqual(first);
    expect((await b.refused('memory_locker.acquire', once)).code).toBe(-32014);
    const another = { ...once, resource: 'another' };
    expect(await a.refused('memory_locker.acquire', another)).toMatchObject({
      code: -32602,
      data: { reason: 'idempotency_key_reused' },
    });
    const status = { session_id, resource: 'another' };
    expect((await a.call('memory_locker.status', status)).locked).toBe(false);
  });

  it('keeps within the number of locks that a session may have', async () => {
    await using world = new World({ limits: { locks_per_session: 2 } });
    const { session_id, clients } = await open(world, 'a');
    const a = clients[0] as Client;
    const { lock_token } = await acquire(a, { session_id, resource: 'x' });
    await acquire(a, { session_id, resource: 'y' });
    expect(await a.refused('memory_locker.acquire', { session_id, resource: 'z' })).toMatchObject({
      code: -32016,
      data: { limit: 'locks_per_session' },
    });
    await a.call('memory_locker.release', { session_id, resource: 'x', lock_token });
    await acquire(a, { session_id, resource: 'z' });
  });

  it('is free of the locks and places of an ended registration', async () => {
    await using world = new World();
    const { session_id, clients } = await open(world, 'a', 'b');
    const [a, b] = clients as [Client, Client];
    const { lock_token } = await acquire(a, { session_id });
    const params = { session_id, wait_ms: 600_000 };
    const request = { jsonrpc: '2.0', id: 1, method: 'memory_locker.acquire', params };
    const waiting = b.peer.handle(request);
    await expect
      .poll(async () => (await a.call('memory_locker.status', { session_id })).waiting)
      .toHaveLength(1);
    const release = a.call('memory_locker.release', { session_id, lock_token });
    await Promise.all([world.agent('b'), release]);
    await b.peer.close();
    await waiting;
    const { locked, waiting: queue } = await a.call('memory_locker.status', { session_id });
    expect({ locked, queue }).toEqual({ locked: false, queue: [] });
  });
});
