import { expect, it } from 'vitest';
import { EVENTS } from '../../../scripts/coordination-events.ts';
import { type Client, World } from './support/world.ts';

const DESCRIBED = new Map(EVENTS.map(({ type, fields }) => [type, fields]));

it('describes every event of a session, and each as it is read', async () => {
  await using world = new World();
  const { owner, session_id } = await busySession(world);
  const { events } = await owner.call('context_coordinator.events', { session_id, limit: 1_000 });
  for (const { type, version: _, at: __, ...event } of events) {
    const fields = DESCRIBED.get(type) ?? expect.fail(`${type} is not described`);
    const names = Object.keys(event);
    expect(fields.map((name) => name.replace('?', ''))).toEqual(expect.arrayContaining(names));
    expect(names, type).toEqual(
      expect.arrayContaining(fields.filter((name) => !name.endsWith('?'))),
    );
    expect(JSON.stringify(event), type).not.toContain('#');
  }
  const told = new Set(events.map(({ type }) => type));
  expect([...DESCRIBED.keys()].filter((type) => !told.has(type))).toEqual([]);
});

it('tells of locks in the same words, read, subscribed to or pushed', async () => {
  await using world = new World();
  const { a, b, session_id } = await twoMembers(world);
  const types = ['lock.granted', 'lock.lost'];
  await a.call('context_coordinator.subscribe', { session_id, types });
  const ticket = await grantTo(b, a, session_id);
  await world.advance(2_000);
  await expect.poll(() => b.pushed('memory_locker.lost')).toHaveLength(1);
  const pushed = ['memory_locker.granted', 'memory_locker.lost'].flatMap((name) => b.pushed(name));
  expect(pushed).toMatchObject([
    { agent_id: 'b', epoch: b.epoch, resource: 'context', ticket, lock_token: expect.any(Number) },
    { agent_id: 'b', epoch: b.epoch, reason: 'expired', lock_token: pushed[0]?.lock_token },
  ]);
  const { events } = await a.call('context_coordinator.events', { session_id, types });
  expect(events.map(({ type: _, version, at: __, ...event }) => [version, event])).toEqual(
    pushed.map(({ session_id: _, cursor, ...event }) => [cursor, event]),
  );
  await expect.poll(() => a.pushed('context_coordinator.event')).toHaveLength(2);
  for (const [index, event] of events.entries()) {
    expect(a.pushed('context_coordinator.event')[index]).toMatchObject(event);
  }
});

it('finds what locks did by the agent that had them', async () => {
  await using world = new World();
  const { a, b, session_id } = await twoMembers(world);
  await grantTo(b, a, session_id);
  const types = ['lock.granted'];
  const by = async (author: string) =>
    (await a.call('context_coordinator.events', { session_id, types, authors: [author] })).events;
  expect(await by('b')).toMatchObject([{ agent_id: 'b' }]);
  expect(await by('a')).toEqual([]);
});

async function twoMembers(world: World) {
  const [a, b] = [await world.agent('a'), await world.agent('b')];
  const { session_id } = await a.call('session_manager.create', {});
  await b.call('session_manager.join', { session_id });
  return { a, b, session_id };
}

/** `to` waits for the lock that `from` has and gives back, and gets it for a second. */
async function grantTo(to: Client, from: Client, session_id: string): Promise<string> {
  const held = await from.call('memory_locker.acquire', { session_id });
  const lock_token = 'lock_token' in held ? held.lock_token : expect.fail('was not free');
  const wait = { session_id, ttl_ms: 1_000, wait_ms: 60_000, async: true };
  const queued = await to.call('memory_locker.acquire', wait);
  await from.call('memory_locker.release', { session_id, lock_token });
  await expect.poll(() => to.pushed('memory_locker.granted')).toHaveLength(1);
  return 'ticket' in queued ? queued.ticket : expect.fail('was not queued');
}

/** A session in which everything happened that can. */
async function busySession(world: World) {
  const { a: owner, b, session_id } = await twoMembers(world);
  const inSession = { session_id };
  await owner.call('context_coordinator.update', {
    ...inSession,
    update: { n: 1 },
    with_lock: true,
  });
  await grantTo(b, owner, session_id);
  await world.advance(2_000);
  await b.call('memory_locker.acquire', inSession);
  const wait = { ...inSession, wait_ms: 60_000, async: true };
  const queued = await owner.call('memory_locker.acquire', wait);
  const ticket = 'ticket' in queued ? queued.ticket : '';
  await owner.call('memory_locker.cancel', { ...inSession, ticket });
  await owner.call('memory_locker.break', inSession);
  const { checkpoint_id } = await owner.call('session_manager.checkpoint', inSession);
  await owner.call('session_manager.remove_checkpoint', { ...inSession, checkpoint_id });
  await owner.call('session_manager.grant', { ...inSession, member: 'b', role: 'reader' });
  const again = await world.agent('b');
  await again.call('agent_registry.unregister', {});
  await owner.call('session_manager.revoke', { ...inSession, member: 'b' });
  await owner.call('session_manager.suspend', inSession);
  await owner.call('session_manager.resume', inSession);
  await owner.call('session_manager.end', inSession);
  return { owner, session_id };
}
