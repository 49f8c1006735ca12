import { expect, it } from 'vitest';
import { World } from './support/world.ts';

it.each([
  ['memory_locker.acquire', {}],
  ['memory_locker.acquire', { wait_ms: 10_000 }],
  ['memory_locker.acquire', { wait_ms: 10_000, async: true }],
  ['memory_locker.acquire', { mode: 'shared' }],
  ['context_coordinator.update', { update: { k: 1 }, with_lock: true }],
  ['context_coordinator.update', { update: { k: 1 } }],
] as const)(
  'an earlier registration is refused while another holds the lock: %s %j',
  async (method, params) => {
    await using world = new World();
    const owner = await world.agent('owner');
    const { session_id } = await owner.call('session_manager.create', {});
    const earlier = await world.agent('a');
    await earlier.call('session_manager.join', { session_id });
    const later = await world.agent('a');
    const lock = await owner.call('memory_locker.acquire', { session_id });
    const lock_token = 'lock_token' in lock ? lock.lock_token : expect.fail('was not free');
    expect(await earlier.refused(method, { session_id, ...params })).toMatchObject({
      code: -32015,
      data: { reason: 'stale_epoch' },
    });
    await owner.call('memory_locker.release', { session_id, lock_token });
    expect(await later.call('memory_locker.status', { session_id })).toMatchObject({
      locked: false,
      waiting: [],
    });
  },
);
