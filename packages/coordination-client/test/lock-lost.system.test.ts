// Blocks its own event loop, as work does that parses much or runs a command and waits for it.

import { FabricError, silentLog } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { type LostLock, openCoordinationClient } from '../src/index.ts';
import { ClientWorld, FAST } from './support/client-world.ts';

const LEASE_LOST = { details: { rpc: -32015, reason: 'lease_lost' } };

describe('work under a lock that is lost while nobody looks', () => {
  it('is rejected when the lease ended before it returned, and the loss is reported', async () => {
    await using at = new ClientWorld();
    const { client, session_id, lost } = await begin(at);
    const work = client.withLock({ session_id, ttl_ms: 1_000 }, async () => {
      blockFor(1_200);
      return 'done';
    });
    await expect(work).rejects.toMatchObject(LEASE_LOST);
    expect(lost).toMatchObject([{ session_id, resource: 'context', reason: 'expired' }]);
  });

  it('learns by assertHeld, before it writes elsewhere, what no timer could tell it yet', async () => {
    await using at = new ClientWorld();
    const { client, session_id, lost } = await begin(at);
    const written: string[] = [];
    const lock = { session_id, ttl_ms: 1_000 };
    const work = client.withLock(lock, async ({ assertHeld, signal, lock_token }) => {
      assertHeld();
      written.push('begun');
      blockFor(1_200);
      expect(assertHeld).toThrow(FabricError);
      expect(lost).toMatchObject([{ lock_token, reason: 'expired' }]);
      signal.throwIfAborted();
      written.push('ended');
    });
    await expect(work).rejects.toMatchObject(LEASE_LOST);
    expect(written).toEqual(['begun']);
    expect(lost).toHaveLength(1);
  });

  it('is rejected when only the release says so', async () => {
    await using at = new ClientWorld();
    const { client, session_id, lost } = await begin(at);
    at.link.onAnswer = ({ method }) => method !== 'memory_locker.lost';
    const work = client.withLock({ session_id, ttl_ms: 60_000 }, async () => {
      await at.world.advance(60_000);
      return 'done';
    });
    await expect(work).rejects.toMatchObject(LEASE_LOST);
    expect(lost).toMatchObject([{ session_id, reason: 'gone' }]);
  });

  it('is lost even if the first handler throws', async () => {
    await using at = new ClientWorld({ heartbeatIntervalMs: 40 });
    const log = { ...silentLog, child: () => log };
    const client = await openCoordinationClient({
      connect: at.link.connect,
      agentId: 'a',
      log,
      ...FAST,
    });
    const { session_id } = await client.sessions.create({});
    const lost: LostLock[] = [];
    const fail = () => {
      throw new Error('of the agent');
    };
    client.on('registered_again', fail).on('lease_lost', fail);
    client.on('lease_lost', (lock) => lost.push(lock));
    await client.locks.acquire({ session_id, resource: 'x', ttl_ms: 3_600_000 });
    const work = client.withLock({ session_id, ttl_ms: 3_600_000 }, async ({ signal }) => {
      at.link.onAnswer = ({ method }) => method !== 'memory_locker.lost';
      at.goDown();
      await at.world.advance(10_000);
      at.link.isDown = false;
      await expect.poll(() => signal.aborted, { timeout: 10_000 }).toBe(true);
    });
    await expect(work).rejects.toMatchObject({ details: { lost: { reason: 'registered_again' } } });
    expect(lost.map(({ resource }) => resource).sort()).toEqual(['context', 'x']);
    await client.close();
  });

  it('is not held any more, and not lost, once it has given the lock back itself', async () => {
    await using at = new ClientWorld();
    const { client, session_id, lost } = await begin(at);
    const work = client.withLock({ session_id }, async ({ assertHeld, lock_token }) => {
      await client.locks.release({ session_id, lock_token });
      expect(assertHeld).toThrow(FabricError);
      return 'done';
    });
    expect(await work).toBe('done');
    expect(lost).toEqual([]);
  });
});

async function begin(at: ClientWorld) {
  const client = await at.open('a');
  const { session_id } = await client.sessions.create({});
  const lost: LostLock[] = [];
  client.on('lease_lost', (lock) => lost.push(lock));
  return { client, session_id, lost };
}

function blockFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
