import { type CoordinationStore, openStore } from '@starloom/coordination';
import { silentLog } from '@starloom/core';
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

  it.each(['application/json', 'text/event-stream'])(
    'answers who takes %s also when the store does not',
    async (accept) => {
      await using world = await openHangingWorld();
      await world.act('session_manager.create', { session_id: 's', agent_id: 'a', mode: 'cas' });
      const update = { session_id: 's', agent_id: 'a', update: { n: 1 } };
      const batch = [
        request(1, 'mcp.discover'),
        request(2, 'context_coordinator.update', update),
        request(3, 'mcp.discover'),
      ];
      world.hang();
      const answer = post(world.url, batch, { accept }).then((response) => response.text());
      await expect.poll(world.isAsked).toBe(true);
      await world.gateway.close();
      const text = (await answer).replace(/^event: message\ndata: /, '');
      expect(JSON.parse(text)).toMatchObject([
        { id: 1, result: { protocol_version: '1.0.0' } },
        { id: 2, error: cancelled },
        { id: 3, error: cancelled },
      ]);
    },
  );

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

/** A gateway whose store stops to answer. */
async function openHangingWorld() {
  const store = await openStore({ kind: 'embedded' }, { log: silentLog });
  let hangs = false;
  let isAsked = false;
  const never = new Promise<never>(() => {});
  const commit: CoordinationStore['commit'] = (partition, what) => {
    if (!hangs) return store.commit(partition, what);
    isAsked = true;
    return never;
  };
  const hanging = new Proxy(store, {
    get(_, name: keyof CoordinationStore) {
      if (name === 'commit') return commit;
      const member = store[name];
      return typeof member === 'function' ? member.bind(store) : member;
    },
  });
  const world = await openCoordinationWorld({}, {}, hanging);
  return {
    ...world,
    hang() {
      hangs = true;
    },
    isAsked: () => isAsked,
  };
}
