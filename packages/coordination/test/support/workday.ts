import { expect } from 'vitest';
import type { Coordination } from '../../src/index.ts';
import { Client } from './world.ts';

export interface Workplace {
  /** Two gateways on one store. */
  readonly gateways: readonly [Coordination, Coordination];
  /** Lets time pass for the store. */
  advance(ms: number): Promise<void>;
}

/** What agents do together, on two gateways, with one of them lost on the way. */
export async function workday({ gateways, advance }: Workplace): Promise<void> {
  const clients = ['planner', 'writer', 'reviewer'].map((agentId, n) => {
    const client = new Client(gateways[n % 2] ?? gateways[0], { principal: 'ci' });
    client.agentId = agentId;
    return client;
  });
  const [planner, writer, reviewer] = clients as [Client, Client, Client];
  for (const client of clients) {
    const agent = { agent_id: client.agentId, capabilities: ['work', client.agentId] };
    client.epoch = (await client.call('agent_registry.register', agent)).epoch;
  }
  const found = await planner.call('agent_registry.find', { capability: 'writer' });
  expect(found.agents.map(({ agent_id }) => agent_id)).toEqual(['writer']);

  const { session_id } = await planner.call('session_manager.create', { metadata: { n: 1 } });
  for (const client of [writer, reviewer])
    await client.call('session_manager.join', { session_id });
  await reviewer.call('context_coordinator.subscribe', { session_id });

  await Promise.all(
    clients.flatMap((client) =>
      Array.from({ length: 5 }, async (_, n) => {
        const resource = `part ${client.agentId} ${n}`;
        await client.call('memory_locker.acquire', { session_id, resource });
      }),
    ),
  );
  const held = await writer.call('memory_locker.acquire', { session_id, ttl_ms: 600_000 });
  const lock_token = 'lock_token' in held ? held.lock_token : expect.fail('not granted');
  const late = { session_id, update: { part: 'by the writer' }, lock_token };
  const { version } = await writer.call('context_coordinator.update', late);
  const waiting = planner.call('memory_locker.acquire', { session_id, wait_ms: 600_000 });
  await expect
    .poll(async () => (await reviewer.call('memory_locker.status', { session_id })).waiting)
    .toMatchObject([{ holder: 'planner', resource: 'context' }]);

  const isGuestThere = await guestJoins(gateways, planner);
  await advance(30_000);
  for (const client of [planner, reviewer]) await client.call('agent_registry.heartbeat', {});
  await advance(20_000);
  for (const gateway of gateways) await gateway.sweep();
  for (const client of [planner, reviewer]) {
    await expect
      .poll(() => client.pushed('session_manager.agent_disconnected'))
      .toContainEqual(
        expect.objectContaining({ session_id, agent_id: 'writer', reason: 'heartbeat_missed' }),
      );
  }
  expect(await isGuestThere()).toBe(false);
  const granted = await waiting;
  const next = 'lock_token' in granted ? granted.lock_token : expect.fail('not granted');
  expect(next).toBeGreaterThan(lock_token);
  expect((await writer.refused('context_coordinator.update', late)).code).toBe(-32015);
  const conflicting = {
    session_id,
    update: { part: 'x' },
    lock_token: next,
    if_version: version - 1,
  };
  expect(await planner.refused('context_coordinator.update', conflicting)).toMatchObject({
    code: -32013,
    data: { current_version: version, current: { part: 'by the writer' } },
  });
  const finish = { session_id, update: { part: 'finished by the planner' }, lock_token: next };
  await planner.call('context_coordinator.update', { ...finish, if_version: version });
  await planner.call('memory_locker.release', { session_id, lock_token: next });

  await Promise.all(
    Array.from({ length: 30 }, async () => {
      const params = { session_id, op: 'increment' as const, update: { n: 1 }, with_lock: true };
      await reviewer.call('context_coordinator.update', params);
    }),
  );
  await expect.poll(() => reviewer.pushed('context_coordinator.update')).toHaveLength(32);
  const versions = reviewer.pushed('context_coordinator.update').map((push) => push.version);
  expect(versions).toEqual([...new Set(versions)].sort((a, b) => Number(a) - Number(b)));
  const past = { session_id, at_version: version };
  expect((await planner.call('context_coordinator.get', past)).context).toEqual({
    part: 'by the writer',
  });
  expect((await planner.call('context_coordinator.get', { session_id })).context).toEqual({
    part: 'finished by the planner',
    n: 30,
  });

  const name = { tool: 'search', params: { q: 1 }, scope: 'session' as const, session_id };
  const results = await Promise.all(
    [planner, reviewer].map(async (client) => {
      const answer = await client.call('tool_cache.get', { ...name, claim: true, wait_ms: 60_000 });
      if (answer.hit) return 'waited';
      await client.call('tool_cache.put', { ...name, result: 'r', claim: answer.claim });
      return 'computed';
    }),
  );
  expect(results.sort()).toEqual(['computed', 'waited']);
  const { chunk_id } = await planner.call('shared_buffer.put', { session_id, content: 'long' });
  expect((await reviewer.call('shared_buffer.get', { session_id, chunk_id })).content).toBe('long');

  const fork = await reviewer.call('session_manager.fork', { session_id, at_version: version });
  const forked = { session_id: fork.session_id };
  expect((await reviewer.call('context_coordinator.get', forked)).context).toEqual({
    part: 'by the writer',
  });
  await planner.call('session_manager.end', { session_id });
  await expect
    .poll(() => reviewer.pushed('session_manager.state_changed'))
    .toMatchObject([{ session_id, state: 'ended' }]);
  await advance(61_000);
  for (const gateway of gateways) await gateway.sweep();
  await Promise.all(clients.map((client) => client.peer.close()));
  const later = new Client(gateways[1], { principal: 'ci' });
  const gone = { agent_id: 'planner', session_id };
  expect((await later.refused('session_manager.get', gone)).code).toBe(-32004);
}

/** An agent that never registered, whose requests come one by one; says whether it is there. */
async function guestJoins(gateways: Workplace['gateways'], planner: Client) {
  const [here, there] = gateways.map(
    (gateway) => new Client(gateway, { principal: 'guests', push: null }),
  ) as [Client, Client];
  const room = { mode: 'cas' as const, open: true };
  const { session_id } = await here.call('session_manager.create', { ...room, agent_id: 'guest' });
  await planner.call('session_manager.join', { session_id });
  await there.call('context_coordinator.update', { session_id, update: { n: 1 } });
  await there.call('context_coordinator.subscribe', { session_id });
  const isThere = async () => {
    const { members } = await planner.call('session_manager.get', { session_id });
    const { status } = await planner.call('agent_registry.get', { agent_id: 'guest' });
    const isConnected = members.find(({ agent_id }) => agent_id === 'guest')?.connected;
    expect(status).toBe(isConnected ? 'active' : 'inactive');
    return isConnected;
  };
  expect(await isThere()).toBe(true);
  return isThere;
}
