import { expect, it } from 'vitest';
import { principalCacheScope } from '../src/cache/cache-index.ts';
import { partitionOf } from '../src/partitions.ts';
import { World } from './support/world.ts';

it('an ended registration keeps no claim, not even one that is granted meanwhile', async () => {
  await using world = new World();
  const [a, b, c] = [await world.agent('a'), await world.agent('b'), await world.agent('c')];
  const tool = 't';
  const { claim = 0 } = await a.call('tool_cache.get', { tool, claim: true });
  const waiting = b.peer.handle({
    jsonrpc: '2.0',
    id: 9,
    method: 'tool_cache.get',
    params: { tool, wait_ms: 600_000 },
  });
  const cache = partitionOf.cache(principalCacheScope('ci'));
  await expect.poll(async () => (await world.store.waiting(cache)).length).toBe(1);
  const cancelWait = world.store.cancelWait.bind(world.store);
  let isAbandoned = false;
  world.store.cancelWait = async (...args) => {
    if (!isAbandoned) await a.call('tool_cache.abandon', { tool, claim });
    isAbandoned = true;
    return await cancelWait(...args);
  };
  await c.call('agent_registry.register', { agent_id: 'b', capabilities: [] });
  expect(isAbandoned).toBe(true);
  expect(await world.store.leases(cache)).toEqual([]);
  await b.peer.close();
  await waiting;
});
