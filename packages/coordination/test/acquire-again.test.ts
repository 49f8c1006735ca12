import { expect, it } from 'vitest';
import { World } from './support/world.ts';

it('gives the lock to who asks again with its key after its connection was lost while it waited', async () => {
  await using world = new World();
  const a = await world.agent('a');
  const { session_id } = await a.call('session_manager.create', {});
  const b = await world.agent('b');
  await b.call('session_manager.join', { session_id });
  const lock = await a.call('memory_locker.acquire', { session_id });
  const lock_token = 'lock_token' in lock ? lock.lock_token : expect.fail('was not free');

  const params = { session_id, agent_id: 'b', wait_ms: 20_000, idempotency_key: 'k' };
  const waiting = b.refused('memory_locker.acquire', params);
  const status = () => a.call('memory_locker.status', { session_id });
  await expect.poll(async () => (await status()).waiting.length).toBe(1);
  await b.peer.close();
  await waiting;
  await expect.poll(async () => (await status()).waiting.length).toBe(0);
  await a.call('memory_locker.release', { session_id, lock_token });

  const again = await world.connect().call('memory_locker.acquire', params);
  expect(again).toHaveProperty('lock_token');
});
