import { expect, it } from 'vitest';
import { World } from './support/world.ts';

it('counts those who wait for a lock among the locks of a session', async () => {
  await using world = new World({ limits: { locks_per_session: 3 } });
  const [a, b, c] = [await world.agent('a'), await world.agent('b'), await world.agent('c')];
  const { session_id } = await a.call('session_manager.create', {});
  for (const client of [b, c]) await client.call('session_manager.join', { session_id });
  const held = await a.call('memory_locker.acquire', { session_id, resource: 'x' });
  const lock_token = 'lock_token' in held ? held.lock_token : expect.fail('not granted');
  for (const client of [b, c]) {
    const wait = { session_id, resource: 'x', wait_ms: 60_000, async: true };
    expect(await client.call('memory_locker.acquire', wait)).toMatchObject({ queued: true });
  }
  const one = { session_id, resource: 'y' };
  expect(await b.refused('memory_locker.acquire', one)).toMatchObject({
    code: -32016,
    data: { limit: 'locks_per_session', allowed: 3 },
  });
  await a.call('memory_locker.release', { session_id, resource: 'x', lock_token });
  await b.call('memory_locker.acquire', one);
});

it('bounds how many wait for one lock, and says so', async () => {
  await using world = new World({ limits: { waits_per_resource: 2 } });
  const a = await world.agent('a');
  const { session_id } = await a.call('session_manager.create', {});
  const held = await a.call('memory_locker.acquire', { session_id, resource: 'x' });
  const lock_token = 'lock_token' in held ? held.lock_token : expect.fail('not granted');
  const wait = { session_id, resource: 'x', wait_ms: 60_000, async: true };
  const join = async (agentId: string) => {
    const client = await world.agent(agentId);
    await client.call('session_manager.join', { session_id });
    return client;
  };
  for (const agentId of ['b', 'c']) {
    await (await join(agentId)).call('memory_locker.acquire', { ...wait, priority: 1 });
  }
  const d = await join('d');
  expect(await d.refused('memory_locker.acquire', { ...wait, priority: 2 })).toMatchObject({
    code: -32016,
    data: { limit: 'waits_per_resource', allowed: 2, fix: expect.any(String) },
  });
  const elsewhere = { ...wait, resource: 'y' };
  expect(await d.call('memory_locker.acquire', elsewhere)).toHaveProperty('lock_token');
  await a.call('memory_locker.release', { session_id, resource: 'x', lock_token });
  world.clock.advance(1_000);
  expect(await d.call('memory_locker.acquire', wait)).toMatchObject({ queued: true });
});
