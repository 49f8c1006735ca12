import { expect, it } from 'vitest';
import { PUSHES } from '../../../scripts/coordination-events.ts';
import { METHODS } from '../src/index.ts';
import { World } from './support/world.ts';

it('the onboarding of the seed: discover, register, session, subscribe, beat', async () => {
  await using world = new World();
  const [first, second] = [world.connect(), world.connect()];
  const discovered = await first.peer.handle({
    jsonrpc: '2.0',
    method: 'mcp.discover',
    id: 'request-id',
  });
  expect(discovered).toEqual({
    jsonrpc: '2.0',
    id: 'request-id',
    result: {
      protocol_version: '1.0.0',
      services: {
        agent_registry: '/agent-registry',
        context_coordinator: '/context-coordinator',
        memory_locker: '/memory-locker',
        tool_cache: '/tool-cache',
        shared_buffer: '/shared-buffer',
        session_manager: '/session-manager',
      },
    },
  });
  for (const [client, agent_id] of [
    [first, 'unique-agent-id'],
    [second, 'another-agent-id'],
  ] as const) {
    const registered = await client.call('agent_registry.register', {
      agent_id,
      capabilities: ['tool1', 'tool2'],
    });
    expect(registered.heartbeat_interval_ms).toBe(30_000);
  }
  const { session_id } = await first.call('session_manager.create', {});
  await second.call('session_manager.join', { session_id });
  await second.call('context_coordinator.subscribe', { session_id });
  for (const client of [first, second]) {
    expect((await client.call('agent_registry.heartbeat', {})).status).toBe('active');
  }
  const { lock_token } = (await first.call('memory_locker.acquire', { session_id })) as {
    lock_token: number;
  };
  const update = { key: 'new_value' };
  await first.call('context_coordinator.update', { session_id, update, lock_token });
  await first.call('memory_locker.release', { session_id, lock_token });
  await expect
    .poll(() => second.pushed('context_coordinator.update'))
    .toMatchObject([{ session_id, update }]);
  const invalid = await first.peer.handle({
    jsonrpc: '2.0',
    id: 'request-id',
    method: 'agent_registry.heartbeat',
    params: { agent_id: 7 },
  });
  expect(invalid).toMatchObject({
    jsonrpc: '2.0',
    id: 'request-id',
    error: { code: -32602, message: 'Invalid params', data: { details: expect.any(String) } },
  });
});

it('[C14] has no way for an agent to send another a message: only the context passes between them', async () => {
  const verbs = /send|message|notify|publish|broadcast|signal|mail|tell|emit|dispatch|invoke/;
  const names = Object.keys(METHODS);
  expect(names.filter((name) => verbs.test(name))).toEqual([]);
  const fields = Object.entries(METHODS).flatMap(([name, { params }]) =>
    Object.keys(params.shape)
      .filter((field) => /^(to_|recipient|receiver|message|payload|target)/.test(field))
      .map((field) => `${name} ${field}`),
  );
  expect(fields).toEqual([]);
  await using world = new World();
  const [a, b] = [await world.agent('a'), await world.agent('b')];
  const { session_id } = await a.call('session_manager.create', {});
  await b.call('session_manager.join', { session_id });
  await b.call('context_coordinator.subscribe', { session_id });
  const words = 'words for b';
  await a.call('agent_registry.register', {
    agent_id: 'a',
    capabilities: [],
    metadata: { note: words },
  });
  await a.call('session_manager.checkpoint', { session_id, name: words });
  await a.call('shared_buffer.put', { session_id, content: words });
  await a.call('tool_cache.put', { tool: 't', result: words });
  await a.call('memory_locker.acquire', { session_id, resource: words });
  expect(JSON.stringify(b.pushes)).not.toContain(words);
  await a.call('context_coordinator.update', { session_id, update: { words }, with_lock: true });
  await expect.poll(() => JSON.stringify(b.pushes)).toContain(words);
  const carriers = b.pushes.filter(({ params }) => JSON.stringify(params).includes(words));
  expect(carriers.map(({ method }) => method)).toEqual(['context_coordinator.update']);
  expect(PUSHES.map(({ method }) => method)).toEqual(
    expect.arrayContaining([...new Set(b.pushes.map(({ method }) => method))]),
  );
});
