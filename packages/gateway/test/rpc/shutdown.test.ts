import { describe, expect, it } from 'vitest';
import { openCoordinationWorld } from '../coordination-world.ts';
import { openLocked, post, request } from './clients.ts';

describe('a shutdown of the gateway', () => {
  const cancelled = {
    code: -32012,
    data: { code: 'CANCELLED', reason: 'shutting_down', details: expect.any(String) },
  };

  it.each(['application/json', 'text/event-stream'])(
    'answers who waits for a lock and takes %s, and gives up the place in the queue',
    async (accept) => {
      await using world = await openCoordinationWorld();
      const locked = await openLocked(world);
      const asked = request('w', 'memory_locker.acquire', locked.acquire);
      const answer = post(world.url, asked, { accept }).then((response) => response.text());
      await locked.untilWaiting();
      await world.gateway.close();
      const text = (await answer).replace(/^event: message\ndata: /, '');
      expect(JSON.parse(text)).toMatchObject({ id: 'w', error: cancelled });
      expect(await locked.waiters()).toEqual([]);
    },
  );

  it('answers a batch with what was done before it came to the wait', async () => {
    await using world = await openCoordinationWorld();
    const locked = await openLocked(world);
    const answer = post(world.url, [
      request(1, 'mcp.discover'),
      request(2, 'memory_locker.acquire', locked.acquire),
    ]).then((response) => response.json());
    await locked.untilWaiting();
    await world.gateway.close();
    expect(await answer).toMatchObject([
      { id: 1, result: { protocol_version: '1.0.0' } },
      { id: 2, error: cancelled },
    ]);
  });

  it('ends a stream of events', async () => {
    await using world = await openCoordinationWorld();
    await openLocked(world);
    const subscribe = { session_id: 's', agent_id: 'b' };
    const response = await post(world.url, request(1, 'context_coordinator.subscribe', subscribe), {
      accept: 'text/event-stream',
    });
    await world.gateway.close();
    expect(await response.text()).toContain('subscription_id');
  });
});
