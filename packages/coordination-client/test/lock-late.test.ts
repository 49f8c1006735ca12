import { type LogFields, silentLog } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { type LostLock, openCoordinationClient } from '../src/index.ts';
import { ClientWorld, FAST } from './support/client-world.ts';

type Message = Record<string, unknown>;

describe('answers about locks that come late', () => {
  it('gives back a lock that is granted after the request for it was given up', async () => {
    await using at = new ClientWorld();
    const { client, owner, session_id } = await begin(at);
    const kept = keepResults(at);
    await expect(client.withLock({ session_id, wait_ms: 0 }, async () => 1)).rejects.toMatchObject({
      code: 'TIMEOUT',
    });
    expect((await owner.locks.status({ session_id })).locked).toBe(true);
    kept.deliver();
    await expect.poll(async () => (await owner.locks.status({ session_id })).locked).toBe(false);
    expect(await client.withLock({ session_id, wait_ms: 0 }, async () => 'again')).toBe('again');
    await client.close();
  });

  it('gives up a place in the queue that no caller knows of', async () => {
    await using at = new ClientWorld();
    const { client, owner, session_id } = await begin(at);
    const { lock_token } = await owner.locks.acquire({ session_id });
    const kept = keepResults(at);
    const asked = client.locks.acquire({ session_id, wait_ms: 1, async: true });
    await expect(asked).rejects.toMatchObject({ code: 'TIMEOUT' });
    kept.deliver();
    await expect.poll(async () => (await owner.locks.status({ session_id })).waiting).toEqual([]);
    await owner.locks.release({ session_id, lock_token });
    await client.close();
  });

  it('gives the result of the work although the release is not answered, and logs that', async () => {
    await using at = new ClientWorld();
    const { client, session_id, logged } = await begin(at);
    const work = client.withLock({ session_id }, async () => {
      at.link.onSend = ({ method }) => method !== 'memory_locker.release';
      return 'done';
    });
    expect(await work).toBe('done');
    expect(logged).toMatchObject([{ error: { code: 'TIMEOUT' }, session_id }]);
    await client.close();
  });

  it('refuses a lock that was lost before its answer came', async () => {
    await using at = new ClientWorld();
    const { client, owner, session_id, lost } = await begin(at);
    const kept = keepResults(at);
    const acquiring = client.locks.acquire({ session_id, wait_ms: 10_000 });
    await expect.poll(() => kept.count()).toBe(1);
    await owner.locks.break({ session_id });
    await expect.poll(() => lost).toMatchObject([{ reason: 'broken' }]);
    kept.deliver();
    await expect(acquiring).rejects.toMatchObject({
      details: { rpc: -32015, lost: { reason: 'broken' } },
    });
    expect(lost).toHaveLength(1);
    await client.close();
  });

  it('refuses a lock whose time is over when its answer comes, and gives it back', async () => {
    await using at = new ClientWorld();
    const { client, owner, session_id, lost } = await begin(at, 10_000);
    const kept = keepResults(at);
    const askedAt = performance.now();
    const acquiring = client.locks.acquire({ session_id, ttl_ms: 50 });
    await expect.poll(() => kept.count()).toBe(1);
    await expect.poll(() => performance.now() - askedAt).toBeGreaterThan(50);
    kept.deliver();
    await expect(acquiring).rejects.toMatchObject({
      details: { rpc: -32015, lost: { reason: 'expired' } },
    });
    await expect.poll(async () => (await owner.locks.status({ session_id })).locked).toBe(false);
    expect(lost).toEqual([]);
    await client.close();
  });

  it('tells a loss once, even if a renewal is confirmed after it, and gives the lock back', async () => {
    await using at = new ClientWorld();
    const { client, owner, session_id, lost } = await begin(at, 10_000);
    const { lock_token } = await client.locks.acquire({ session_id, ttl_ms: 100 });
    const kept = keepResults(at);
    const renewing = client.locks.renew({ session_id, lock_token, ttl_ms: 100 });
    await expect.poll(() => lost).toMatchObject([{ lock_token, reason: 'expired' }]);
    expect((await owner.locks.status({ session_id })).locked).toBe(true);
    kept.deliver();
    await renewing;
    await expect.poll(async () => (await owner.locks.status({ session_id })).locked).toBe(false);
    expect(lost).toHaveLength(1);
    await client.close();
  });
});

/** An owner on a link of its own, and a client that does not wait for long. */
async function begin(at: ClientWorld, requestMs = 500) {
  const owner = await at.open('owner', at.anotherLink());
  const { session_id } = await owner.sessions.create({});
  const logged: LogFields[] = [];
  const log = { ...silentLog, warn: (fields: LogFields) => void logged.push(fields) };
  const { connect } = at.link;
  const client = await openCoordinationClient({ connect, agentId: 'a', requestMs, log, ...FAST });
  await client.sessions.join({ session_id });
  const lost: LostLock[] = [];
  client.on('lease_lost', (lock) => lost.push(lock));
  return { owner, client, session_id, lost, logged };
}

/** Results are kept back until they are delivered. */
function keepResults(at: ClientWorld) {
  const results: Message[] = [];
  at.link.onAnswer = (message) => {
    if ('result' in message) results.push(message);
    return !('result' in message);
  };
  const deliver = () => {
    at.link.onAnswer = () => true;
    for (const message of results.splice(0)) at.link.say(message);
  };
  return { deliver, count: () => results.length };
}
