import { expect } from 'vitest';
import type { RpcClient } from './coordination-clients.ts';

const patience = { timeout: 30_000, interval: 20 };

/** Connect, discover, register, session, subscribe, heartbeat, as the specification writes it. */
export async function onboard(client: RpcClient, agent_id: string, session_id: string) {
  const discovered = await client.ask('mcp.discover');
  expect(discovered.result).toEqual({
    protocol_version: '1.0.0',
    services: {
      agent_registry: '/agent-registry',
      context_coordinator: '/context-coordinator',
      memory_locker: '/memory-locker',
      tool_cache: '/tool-cache',
      shared_buffer: '/shared-buffer',
      session_manager: '/session-manager',
    },
  });
  const registered = await client.ask('agent_registry.register', {
    agent_id,
    capabilities: ['tool1', 'tool2'],
  });
  expect(registered.result).toMatchObject({ agent_id, heartbeat_interval_ms: 30_000 });
  const created = await client.ask('session_manager.create', { session_id, agent_id });
  if (created.error) {
    expect(created.error.code).toBe(-32013);
    const joined = await client.ask('session_manager.join', { session_id, agent_id });
    expect(joined.error).toBeUndefined();
  }
  const subscribed = await client.subscribe(session_id, agent_id);
  expect(subscribed.result).toMatchObject({ subscription_id: expect.any(String) });
  const beaten = await client.ask('agent_registry.heartbeat', { agent_id });
  expect(beaten.result).toMatchObject({ status: 'active' });
  return subscribed.result as { cursor: number };
}

/** Takes the lock, writes, gives it back. */
export async function write(
  client: RpcClient,
  session_id: string,
  agent_id: string,
  update: object,
) {
  const wanted = { session_id, agent_id, wait_ms: 20_000 };
  const { result: lock, error } = await client.ask('memory_locker.acquire', wanted);
  expect(error).toBeUndefined();
  const { lock_token } = lock;
  const params = { session_id, agent_id, update, lock_token };
  const written = await client.ask('context_coordinator.update', params);
  expect(written.error).toBeUndefined();
  await client.ask('memory_locker.release', { session_id, agent_id, lock_token });
  return written.result as { version: number };
}

/** The updates that were pushed to a client, when there are as many as expected. */
export async function updatesOf(client: RpcClient, count: number) {
  const updates = () =>
    client.pushed.filter(({ method }) => method === 'context_coordinator.update');
  await expect.poll(() => updates().length, patience).toBe(count);
  return updates().map(({ params: { version, update, agent_id } }) => ({
    version,
    update,
    agent_id,
  }));
}
