// Time is faked for the whole process here, and what the process shares counts on it: so this runs in
// a process of its own, as system tests do.

import { afterEach, beforeEach, describe, expect, expectTypeOf, it, vi } from 'vitest';
import type { CoordinationClient, HeldLock, LostLock } from '../src/index.ts';
import { CLIENT_TIMERS, ClientWorld } from './support/client-world.ts';

const HOUR_MS = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers(CLIENT_TIMERS);
});

afterEach(() => {
  vi.useRealTimers();
});

/** An owner, and a client on a link of its own. */
async function begin(at: ClientWorld) {
  const owner = await at.open('owner', at.anotherLink());
  const { session_id } = await owner.sessions.create({});
  const client = await at.open('a');
  await client.sessions.join({ session_id });
  return { owner, client, session_id, lost: lostOf(client) };
}

function lostOf(client: CoordinationClient): LostLock[] {
  const lost: LostLock[] = [];
  client.on('lease_lost', (lock) => lost.push(lock));
  return lost;
}

describe('leases of a client', () => {
  it('says once that a lease is over, by its own clock, while it is cut off', async () => {
    await using at = new ClientWorld();
    const { client, session_id, lost } = await begin(at);
    const lock = { session_id, resource: 'r' };
    const { lock_token } = await client.locks.acquire({ ...lock, ttl_ms: 1_500 });
    at.goDown();
    await at.pass(1_000);
    expect(lost).toEqual([]);
    await at.pass(500);
    expect(lost).toEqual([{ ...lock, lock_token, reason: 'expired' }]);
    at.link.isDown = false;
    await at.pass(1_500);
    expect((await client.locks.status({ session_id })).locked).toBe(false);
    expect(lost).toHaveLength(1);
  });

  it('says it once as well when the server says it, too', async () => {
    await using at = new ClientWorld();
    const { client, session_id, lost } = await begin(at);
    await client.locks.acquire({ session_id, ttl_ms: 1_500 });
    await at.pass(3_000);
    expect(lost).toMatchObject([{ session_id, resource: 'context', reason: 'expired' }]);
  });

  it('takes a lease without a time for one of the time that the server gives it', async () => {
    await using at = new ClientWorld();
    const { client, session_id, lost } = await begin(at);
    const { expires_at } = await client.locks.acquire({ session_id });
    at.goDown();
    await vi.advanceTimersByTimeAsync(expires_at - at.world.clock.now() - 2_000);
    expect(lost).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(lost).toHaveLength(1);
  });

  it('counts a lease from the end of the wait for it', async () => {
    await using at = new ClientWorld();
    const { owner, client, session_id, lost } = await begin(at);
    const { lock_token } = await owner.locks.acquire({ session_id });
    const waiting = client.locks.acquire({ session_id, ttl_ms: 1_500, wait_ms: 10_000 });
    await at.pass(3_000);
    await owner.locks.release({ session_id, lock_token });
    await waiting;
    at.goDown();
    await at.pass(1_000);
    expect(lost).toEqual([]);
    await at.pass(500);
    expect(lost).toMatchObject([{ reason: 'expired' }]);
  });

  it('counts from the last renewal that was confirmed', async () => {
    await using at = new ClientWorld();
    const { client, session_id, lost } = await begin(at);
    const { lock_token } = await client.locks.acquire({ session_id, ttl_ms: 1_000 });
    await at.pass(800);
    await client.locks.renew({ session_id, lock_token, ttl_ms: 1_000 });
    at.goDown();
    await at.pass(800);
    expect(lost).toEqual([]);
    await at.pass(200);
    expect(lost).toMatchObject([{ lock_token, reason: 'expired' }]);
  });

  it('looks after a reconnect which of its leases are gone, and says so first', async () => {
    await using at = new ClientWorld();
    const { owner, client, session_id, lost } = await begin(at);
    const held = { session_id, ttl_ms: HOUR_MS };
    const { lock_token } = await client.locks.acquire({ ...held, resource: 'kept' });
    await client.locks.acquire({ ...held, resource: 'broken' });
    const told: number[] = [];
    client.on('reconnected', () => told.push(lost.length));
    at.goDown();
    await owner.locks.break({ session_id, resource: 'broken' });
    at.link.isDown = false;
    await at.pass(100);
    expect(lost).toMatchObject([{ resource: 'broken', reason: 'gone' }]);
    expect(told).toEqual([1]);
    await client.locks.release({ session_id, resource: 'kept', lock_token });
  });

  it('says after a reconnect that its leases went with the session', async () => {
    await using at = new ClientWorld();
    const { owner, client, session_id, lost } = await begin(at);
    await client.locks.acquire({ session_id, ttl_ms: HOUR_MS });
    at.goDown();
    await owner.sessions.end({ session_id });
    at.link.isDown = false;
    await at.pass(100);
    expect(lost).toMatchObject([{ session_id, reason: 'gone' }]);
  });

  it('renews a lock whose answer comes late, since much of its time may be over', async () => {
    await using at = new ClientWorld();
    const { owner, client, session_id } = await begin(at);
    at.link.onAnswer = () => false;
    const acquiring = client.locks.acquire({ session_id, ttl_ms: 3_000 });
    await at.pass(100);
    at.goDown();
    at.link.onAnswer = () => true;
    await at.pass(2_000);
    at.link.isDown = false;
    await at.pass(100);
    const { lock_token, expires_at } = await acquiring;
    const { locks } = await owner.locks.status({ session_id });
    expect(locks[0]?.expires_at).toBeGreaterThan(expires_at + 1_500);
    await client.locks.release({ session_id, lock_token });
  });

  it('tells that notices were missed, and looks which leases are gone', async () => {
    await using at = new ClientWorld();
    const { owner, client, session_id, lost } = await begin(at);
    await client.locks.acquire({ session_id, ttl_ms: HOUR_MS });
    at.link.onAnswer = ({ method }) => method !== 'memory_locker.lost';
    await owner.locks.break({ session_id });
    await at.pass(100);
    expect(lost).toEqual([]);
    const missed = new Promise((resolve) => client.once('notices_missed', resolve));
    const params = { session_id, cursor: 7 };
    at.link.say({ method: 'session_manager.notices_missed', params });
    expect(await missed).toEqual(params);
    await expect.poll(() => lost).toMatchObject([{ session_id, reason: 'gone' }]);
  });

  it('says that a lease is gone whose renewal is refused', async () => {
    await using at = new ClientWorld();
    const { owner, client, session_id, lost } = await begin(at);
    const { lock_token } = await client.locks.acquire({ session_id, ttl_ms: HOUR_MS });
    at.link.onAnswer = ({ method }) => method !== 'memory_locker.lost';
    await owner.locks.break({ session_id });
    await expect(client.locks.renew({ session_id, lock_token })).rejects.toThrow();
    expect(lost).toMatchObject([{ lock_token, reason: 'gone' }]);
  });

  it('holds what was granted by a push, and says when it is lost', async () => {
    await using at = new ClientWorld({ heartbeatIntervalMs: 2_000 });
    const { owner, client, session_id, lost } = await begin(at);
    const get = async (resource: string, ttl_ms: number) => {
      const { lock_token } = await owner.locks.acquire({ session_id, resource });
      const asked = { session_id, resource, ttl_ms, async: true, wait_ms: 10_000 };
      expect(await client.locks.acquire(asked)).toMatchObject({ queued: true });
      const granted = new Promise<HeldLock>((resolve) => client.once('lease_granted', resolve));
      await owner.locks.release({ session_id, resource, lock_token });
      return await granted;
    };
    const short = await get('short', 1_000);
    const long = await get('long', HOUR_MS);
    at.goDown();
    await at.pass(1_000);
    expect(lost).toMatchObject([{ lock_token: short.lock_token, reason: 'expired' }]);
    await at.pass(20_000);
    at.link.isDown = false;
    await at.pass(100);
    expect(lost.slice(1)).toMatchObject([
      { lock_token: long.lock_token, reason: 'registered_again' },
    ]);
  });

  it.each(['release', 'leave'] as const)(
    'does not call lost what was given up by %s',
    async (how) => {
      await using at = new ClientWorld({ heartbeatIntervalMs: 2_000 });
      const { client, session_id, lost } = await begin(at);
      const { lock_token } = await client.locks.acquire({ session_id, ttl_ms: HOUR_MS });
      let renewed: Record<string, unknown> = {};
      at.link.onAnswer = (message) => {
        if (!('result' in message)) return true;
        renewed = message;
        return false;
      };
      const renewing = client.locks.renew({ session_id, lock_token, ttl_ms: HOUR_MS });
      await expect.poll(() => renewed).toHaveProperty('id');
      at.link.onAnswer = () => true;
      if (how === 'release') await client.locks.release({ session_id, lock_token });
      if (how === 'leave') await client.sessions.leave({ session_id });
      at.link.say(renewed);
      await renewing;
      const { epoch } = client;
      at.goDown();
      await at.pass(20_000);
      at.link.isDown = false;
      await at.pass(100);
      expect(client.epoch).toBeGreaterThan(epoch);
      expect(lost).toEqual([]);
    },
  );

  it('gives a lock without a ticket unless it is asked for one', async () => {
    await using at = new ClientWorld();
    const { client, session_id } = await begin(at);
    const granted = await client.locks.acquire({ session_id });
    expectTypeOf(granted.lock_token).toEqualTypeOf<number>();
    const queued = client.locks.acquire({ session_id, resource: 'x', async: true });
    expectTypeOf<Awaited<typeof queued>>().not.toHaveProperty('lock_token');
    expect(await queued).toHaveProperty('lock_token');
  });
});

describe('work under a lock', () => {
  it('goes on for longer than the lease, which is renewed', async () => {
    await using at = new ClientWorld();
    const { client, session_id } = await begin(at);
    const { promise: time, resolve: finish } = Promise.withResolvers<void>();
    const work = client.withLock({ session_id, ttl_ms: 1_500 }, async ({ lock_token, signal }) => {
      await time;
      await client.context.update({ session_id, update: { a: 1 }, lock_token });
      return signal.aborted;
    });
    await at.pass(6_000);
    finish();
    expect(await work).toBe(false);
  });

  it('is aborted before the lease is over when no renewal is confirmed, and rejected', async () => {
    await using at = new ClientWorld();
    const { client, session_id, lost } = await begin(at);
    const { promise: begun, resolve: onBegun } = Promise.withResolvers<AbortSignal>();
    const work = client.withLock({ session_id, ttl_ms: 1_500 }, async ({ signal }) => {
      onBegun(signal);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return 'done';
    });
    const refused = expect(work).rejects.toMatchObject({
      details: { rpc: -32015, reason: 'lease_lost', lost: { session_id, reason: 'expired' } },
    });
    const signal = await begun;
    at.goDown();
    await at.pass(1_300);
    expect(signal.aborted).toBe(false);
    await at.pass(175);
    expect(signal.aborted).toBe(true);
    await refused;
    expect(lost).toMatchObject([{ session_id, resource: 'context', reason: 'expired' }]);
  });

  it('gives the lock back even if it was lost, since a renewal may be on its way', async () => {
    await using at = new ClientWorld();
    const { owner, client, session_id } = await begin(at);
    const work = client.withLock({ session_id, ttl_ms: 3_000 }, async ({ signal }) => {
      at.link.onSend = () => false;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    const refused = expect(work).rejects.toMatchObject({ details: { reason: 'lease_lost' } });
    await vi.advanceTimersByTimeAsync(3_000);
    await refused;
    at.link.onSend = () => true;
    at.link.cut();
    await vi.advanceTimersByTimeAsync(100);
    expect((await owner.locks.status({ session_id })).locked).toBe(false);
  });

  it('has the whole lease before it, however long the lock was waited for', async () => {
    await using at = new ClientWorld();
    const { owner, client, session_id } = await begin(at);
    const { lock_token } = await owner.locks.acquire({ session_id });
    const sent: string[] = [];
    at.link.onSend = ({ method }) => sent.push(method) > 0;
    const work = client.withLock({ session_id, ttl_ms: 1_500 }, async ({ signal }) => {
      return { isAborted: signal.aborted, renewals: sent.filter((name) => name.endsWith('renew')) };
    });
    await at.pass(3_000);
    await owner.locks.release({ session_id, lock_token });
    await at.pass(100);
    expect(await work).toEqual({ isAborted: false, renewals: ['memory_locker.renew'] });
  });

  it('is aborted when the client is closed', async () => {
    await using at = new ClientWorld();
    const { client, session_id } = await begin(at);
    const { promise: begun, resolve: onBegun } = Promise.withResolvers<void>();
    const work = client.withLock({ session_id }, async ({ signal }) => {
      onBegun();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    await begun;
    await client.close();
    await expect(work).rejects.toMatchObject({ details: { lost: { reason: 'closed' } } });
  });
});
