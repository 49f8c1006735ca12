import { describe, expect, it } from 'vitest';
import type { Commit } from '../src/coordination-store.ts';
import { AGENTS, keyOf, partitionOf } from '../src/partitions.ts';
import { beforeCommit, writesKey } from './support/before-commit.ts';
import { type Client, World } from './support/world.ts';

const agent_id = 'a';
const isRecord = (partition: string, commit: Commit) =>
  partition === AGENTS && writesKey(commit, (key) => key === keyOf.agent(agent_id));

const register = (client: Client, ...capabilities: string[]) =>
  client.call('agent_registry.register', { agent_id, capabilities });

async function offers(world: World, ...capabilities: string[]): Promise<boolean[]> {
  const found = capabilities.map(async (name) => {
    const { entries } = await world.store.read(partitionOf.capability(name));
    return entries.has(agent_id);
  });
  return await Promise.all(found);
}

describe('a registration that ends while it writes the record of the agent', () => {
  it('is refused its beat', async () => {
    await using world = new World();
    const [one, two] = [world.connect(), world.connect()];
    await register(one);
    let later = 0;
    const moment = beforeCommit(world.store, isRecord, async () => {
      later = (await register(two, 'new')).epoch;
    });
    const refusal = await one.refused('agent_registry.heartbeat', { status: 'busy' });
    expect(moment.hasHappened).toBe(true);
    expect(refusal).toMatchObject({ code: -32015, data: { reason: 'stale_epoch' } });
    expect(await two.call('agent_registry.get', { agent_id })).toMatchObject({
      epoch: later,
      status: 'active',
      capabilities: [{ name: 'new' }],
    });
  });

  it('is refused its registration', async () => {
    await using world = new World();
    const [one, two] = [world.connect(), world.connect()];
    let later = 0;
    beforeCommit(world.store, isRecord, async () => {
      later = (await register(two, 'new')).epoch;
    });
    const params = { agent_id, capabilities: ['old'] };
    const refusal = await one.refused('agent_registry.register', params);
    expect(refusal).toMatchObject({ code: -32015, data: { reason: 'stale_epoch' } });
    expect(await two.call('agent_registry.get', { agent_id })).toMatchObject({
      epoch: later,
      capabilities: [{ name: 'new' }],
    });
  });

  it('is refused its beat when it was over by time', async () => {
    await using world = new World();
    const client = world.connect();
    await register(client);
    beforeCommit(world.store, isRecord, async () => world.clock.advance(600_000));
    const refusal = await client.refused('agent_registry.heartbeat', {});
    expect(refusal.data.reason).toBe('stale_epoch');
  });
});

describe('what an agent offers', () => {
  it('is forgotten with the registration that offered it, unless the next one offers it, too', async () => {
    await using world = new World();
    const client = world.connect();
    await register(client, 'old', 'both');
    expect(await offers(world, 'old', 'both', 'new')).toEqual([true, true, false]);
    await register(client, 'both', 'new');
    expect(await offers(world, 'old', 'both', 'new')).toEqual([false, true, true]);
  });

  it('is forgotten when the agent unregisters', async () => {
    await using world = new World();
    const client = world.connect();
    await register(client, 'plan');
    await client.call('agent_registry.unregister', {});
    expect(await offers(world, 'plan')).toEqual([false]);
  });

  it('is forgotten when the agent is lost', async () => {
    await using world = new World();
    await register(world.connect(), 'plan');
    await world.advance(600_000);
    expect(await offers(world, 'plan')).toEqual([false]);
  });
});
