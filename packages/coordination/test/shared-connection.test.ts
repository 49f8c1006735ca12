import { expect, it } from 'vitest';
import { type Client, World } from './support/world.ts';

it('tells a connection once what is the same for all of its agents in a session', async () => {
  await using world = new World();
  const { both, other, session_id } = await twoOnOneConnection(world);
  await other.call('session_manager.join', { session_id });
  await other.call('session_manager.leave', { session_id });
  await expect.poll(() => both.pushed('session_manager.agent_left')).toHaveLength(1);
  expect(both.pushed('session_manager.agent_joined')).toMatchObject([{ agent_id: 'other' }]);
});

it('tells a connection of one of its agents when another of them is in the session, too', async () => {
  await using world = new World();
  const { both, other, session_id } = await twoOnOneConnection(world);
  await both.call('session_manager.leave', { session_id, agent_id: 'first' });
  await other.call('session_manager.join', { session_id });
  await expect.poll(() => both.pushed('session_manager.agent_joined')).toHaveLength(1);
  expect(both.pushed('session_manager.agent_left')).toMatchObject([{ agent_id: 'first' }]);
  await both.call('session_manager.leave', { session_id, agent_id: 'second' });
  const late = await world.agent('late');
  await late.call('session_manager.join', { session_id });
  await expect.poll(() => other.pushed('session_manager.agent_joined')).toHaveLength(1);
  expect(both.pushed('session_manager.agent_joined')).toHaveLength(1);
});

it('tells each agent on a connection of its own locks', async () => {
  await using world = new World();
  const { both, other, session_id } = await twoOnOneConnection(world);
  await other.call('session_manager.join', { session_id });
  const held = await other.call('memory_locker.acquire', { session_id, mode: 'shared' });
  const wait = { session_id, wait_ms: 60_000, async: true } as const;
  for (const agent_id of ['first', 'second']) {
    await both.call('memory_locker.acquire', { ...wait, agent_id });
  }
  const granted = () => both.pushed('memory_locker.granted').map(({ agent_id }) => agent_id);
  const lock_token = 'lock_token' in held ? held.lock_token : expect.fail('was not free');
  await other.call('memory_locker.release', { session_id, lock_token });
  await expect.poll(granted).toEqual(['first']);
  await both.call('session_manager.leave', { session_id, agent_id: 'first' });
  await expect.poll(granted).toEqual(['first', 'second']);
});

async function twoOnOneConnection(world: World) {
  const both: Client = world.connect();
  for (const agent_id of ['first', 'second']) {
    await both.call('agent_registry.register', { agent_id, capabilities: [] });
  }
  const { session_id } = await both.call('session_manager.create', { agent_id: 'first' });
  await both.call('session_manager.join', { session_id, agent_id: 'second' });
  await expect.poll(() => both.pushed('session_manager.agent_joined')).toHaveLength(1);
  both.pushes.length = 0;
  return { both, other: await world.agent('other'), session_id };
}
