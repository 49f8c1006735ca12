import { describe, expect, it } from 'vitest';
import type { CoordinationStore } from '../src/coordination-store.ts';
import { partitionOf } from '../src/partitions.ts';
import { type Client, World } from './support/world.ts';

const session_id = 's';
const partition = partitionOf.session(session_id);

/** Lets something happen in the moment in which a place in a queue is given up; once. */
function beforeGivingUp(store: CoordinationStore, happen: () => Promise<unknown>) {
  const cancelWait = store.cancelWait.bind(store);
  const moment = { hasHappened: false };
  store.cancelWait = async (name, ticket) => {
    if (!moment.hasHappened) {
      moment.hasHappened = true;
      await happen();
    }
    return await cancelWait(name, ticket);
  };
  return moment;
}

async function openSession() {
  const world = new World();
  const [a, b] = [await world.agent('a'), await world.agent('b')];
  await a.call('session_manager.create', { session_id });
  await b.call('session_manager.join', { session_id });
  return { world, a, b };
}

async function acquire(client: Client, resource: string): Promise<() => Promise<unknown>> {
  const granted = await client.call('memory_locker.acquire', { session_id, resource });
  const lock_token = 'lock_token' in granted ? granted.lock_token : expect.fail('not granted');
  return () => client.call('memory_locker.release', { session_id, resource, lock_token });
}

async function untilWaiting({ store }: World, holder: string): Promise<void> {
  const holders = async () => (await store.waiting(partition)).map((place) => place.holder);
  await expect.poll(holders).toContainEqual(expect.stringMatching(new RegExp(`^${holder}#`)));
}

const wait = { session_id, resource: 'x', wait_ms: 600_000 };

describe('a lock that is granted in the moment in which its waiter gives up', () => {
  it('is free again when the connection of the waiter was closed', async () => {
    const { world, a, b } = await openSession();
    await using _ = world;
    const release = await acquire(a, 'x');
    const waiting = b.refused('memory_locker.acquire', wait);
    await untilWaiting(world, 'b');
    const moment = beforeGivingUp(world.store, release);
    await b.peer.close();
    await waiting;
    expect(moment.hasHappened).toBe(true);
    expect(await world.store.leases(partition)).toEqual([]);
    await acquire(a, 'x');
  });

  it('goes to the next in the queue when the connection of the waiter was closed', async () => {
    const { world, a, b } = await openSession();
    await using _ = world;
    const c = await world.agent('c');
    await c.call('session_manager.join', { session_id });
    const release = await acquire(a, 'x');
    const waiting = b.refused('memory_locker.acquire', wait);
    await untilWaiting(world, 'b');
    const next = c.call('memory_locker.acquire', wait);
    await untilWaiting(world, 'c');
    beforeGivingUp(world.store, release);
    await b.peer.close();
    await waiting;
    expect(await next).toMatchObject({ lock_token: expect.any(Number) });
    expect(await world.store.leases(partition)).toMatchObject([{ holder: `c#${c.epoch}` }]);
  });

  it('is handed over all the same when it was the wait that was over', async () => {
    const { world, a, b } = await openSession();
    await using _ = world;
    const release = await acquire(a, 'x');
    const moment = beforeGivingUp(world.store, release);
    const granted = await b.call('memory_locker.acquire', { ...wait, wait_ms: 20 });
    expect(moment.hasHappened).toBe(true);
    const lock_token = 'lock_token' in granted ? granted.lock_token : expect.fail('not granted');
    expect(await world.store.leases(partition)).toMatchObject([{ token: lock_token }]);
    await b.call('memory_locker.release', { session_id, resource: 'x', lock_token });
  });

  it('is released by the one that cancels the ticket', async () => {
    const { world, a, b } = await openSession();
    await using _ = world;
    const release = await acquire(a, 'x');
    const place = await b.call('memory_locker.acquire', { ...wait, async: true });
    const ticket = 'ticket' in place ? place.ticket : expect.fail('not queued');
    const moment = beforeGivingUp(world.store, release);
    const cancelled = await b.call('memory_locker.cancel', { session_id, ticket });
    expect(moment.hasHappened).toBe(true);
    expect(cancelled).toEqual({ cancelled: true });
    expect(await world.store.leases(partition)).toEqual([]);
  });

  it('is lost with the membership, although no client waits for the ticket', async () => {
    const { world, a, b } = await openSession();
    await using _ = world;
    const release = await acquire(a, 'x');
    await b.call('memory_locker.acquire', { ...wait, async: true });
    const moment = beforeGivingUp(world.store, release);
    await a.call('session_manager.revoke', { session_id, member: 'b' });
    expect(moment.hasHappened).toBe(true);
    expect(await world.store.leases(partition)).toEqual([]);
  });

  it('is given back when the waiter has lost the right to it', async () => {
    const { world, a, b } = await openSession();
    await using _ = world;
    const release = await acquire(a, 'x');
    const waiting = b.refused('memory_locker.acquire', wait);
    await untilWaiting(world, 'b');
    const moment = beforeGivingUp(world.store, release);
    await a.call('session_manager.grant', { session_id, member: 'b', role: 'reader' });
    expect((await waiting).data.reason).toBe('role_too_low');
    expect(moment.hasHappened).toBe(true);
    expect(await world.store.leases(partition)).toEqual([]);
  });

  it('is the lock of one that was about to be refused, since it would have waited in a circle', async () => {
    const { world, a, b } = await openSession();
    await using _ = world;
    const releaseFirst = await acquire(a, 'x');
    const release = await acquire(b, 'y');
    const first = b.call('memory_locker.acquire', wait);
    await untilWaiting(world, 'b');
    const moment = beforeGivingUp(world.store, release);
    const granted = await a.call('memory_locker.acquire', { ...wait, resource: 'y' });
    expect(moment.hasHappened).toBe(true);
    expect(granted).toMatchObject({ lock_token: expect.any(Number) });
    await releaseFirst();
    expect(await first).toMatchObject({ lock_token: expect.any(Number) });
  });
});

describe('a claim on a result that is granted in the moment in which its waiter gives up', () => {
  it('is free for the next', async () => {
    await using world = new World();
    const [a, b, c] = [await world.agent('a'), await world.agent('b'), await world.agent('c')];
    const tool = 'search';
    const { claim = 0 } = await a.call('tool_cache.get', { tool, claim: true });
    const moment = beforeGivingUp(world.store, () => a.call('tool_cache.abandon', { tool, claim }));
    const late = await b.call('tool_cache.get', { tool, wait_ms: 20 });
    expect(moment.hasHappened).toBe(true);
    if (late.claim !== undefined) await b.call('tool_cache.abandon', { tool, claim: late.claim });
    const next = await c.call('tool_cache.get', { tool, claim: true });
    expect(next.claim).toEqual(expect.any(Number));
  });
});
