import { expect, it } from 'vitest';
import { createCoordination } from '../src/index.ts';
import { MemoryCoordinationStore } from '../src/testing.ts';
import { Client } from './support/world.ts';

it('retires lost agents by itself once it is started, by real time', async () => {
  const store = new MemoryCoordinationStore();
  const coordination = createCoordination({ store, heartbeatIntervalMs: 60 });
  coordination.start();
  coordination.start();
  const [a, b] = ['a', 'b'].map(() => new Client(coordination, { principal: 'ci' }));
  if (!a || !b) return expect.fail('no clients');
  await a.call('agent_registry.register', { agent_id: 'a', capabilities: [] });
  await b.call('agent_registry.register', { agent_id: 'b', capabilities: [] });
  const { session_id } = await a.call('session_manager.create', {});
  await b.call('session_manager.join', { session_id });
  const beats = setInterval(() => void b.call('agent_registry.heartbeat', {}), 30);
  await expect
    .poll(() => b.pushed('session_manager.agent_disconnected'), { timeout: 10_000 })
    .toMatchObject([{ session_id, agent_id: 'a', reason: 'heartbeat_missed' }]);
  clearInterval(beats);
  await coordination.close();
  await store.close();
});

it('lets go of waits and subscriptions when it closes', async () => {
  const store = new MemoryCoordinationStore();
  const coordination = createCoordination({ store });
  const client = new Client(coordination, { principal: 'ci' });
  const { session_id } = await client.call('session_manager.create', { agent_id: 'a' });
  await client.call('context_coordinator.subscribe', { session_id });
  await client.call('memory_locker.acquire', { session_id });
  const other = new Client(coordination, { principal: 'ci' });
  await other.call('session_manager.join', { session_id, agent_id: 'b' });
  const waiting = other.refused('memory_locker.acquire', {
    agent_id: 'b',
    session_id,
    wait_ms: 600_000,
  });
  await expect.poll(async () => (await store.waiting(`session:${session_id}`)).length).toBe(1);
  await coordination.close();
  await waiting;
  expect(await store.waiting(`session:${session_id}`)).toEqual([]);
  expect(coordination.services.feeds.size).toBe(0);
  await store.close();
});
