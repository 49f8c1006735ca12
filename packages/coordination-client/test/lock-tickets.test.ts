import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { CoordinationClient, GrantedTicket, LostLock, Ticket } from '../src/index.ts';
import { ClientWorld } from './support/client-world.ts';

const MINUTE_MS = 60_000;
/** Nobody is taken for lost here. */
const LONG_LIFE = { heartbeatIntervalMs: 60 * MINUTE_MS };

describe('a lock that was asked for with async, while the client is away', () => {
  it('is reported after the reconnect when it was granted, and has its whole lease left', async () => {
    await using at = new ClientWorld(LONG_LIFE);
    const { owner, client, session_id, granted, gone, queue } = await begin(at);
    const [first, second] = [await queue('first'), await queue('second')];
    at.goDown();
    await owner.locks.release(first.held);
    at.world.clock.advance(MINUTE_MS / 2);
    await comeBack(at, client);
    await expect.poll(() => granted).toMatchObject([{ session_id, resource: 'first' }]);
    expect(granted[0]?.ticket).toBe(first.ticket);
    const { locks } = await owner.locks.status({ session_id, resource: 'first' });
    expect(locks[0]?.expires_at).toBe(at.world.clock.now() + MINUTE_MS);
    const { resource, lock_token = 0 } = granted[0] ?? {};
    await client.locks.release({ session_id, resource, lock_token });

    await owner.locks.release(second.held);
    await expect.poll(() => granted).toHaveLength(2);
    expect(granted[1]).toMatchObject({ resource: 'second', ticket: second.ticket });
    expect(gone).toEqual([]);
  });

  it('is reported once when it is granted and the client is connected', async () => {
    await using at = new ClientWorld(LONG_LIFE);
    const { owner, client, granted, gone, queue } = await begin(at);
    const { held } = await queue('first');
    await owner.locks.release(held);
    await expect.poll(() => granted).toHaveLength(1);
    at.goDown();
    await comeBack(at, client);
    expect([granted.length, gone]).toEqual([1, []]);
  });

  it('is reported as gone when neither the lock nor the place exists', async () => {
    await using at = new ClientWorld(LONG_LIFE);
    const { session_id, granted, gone, queue, client } = await begin(at);
    const { ticket } = await queue('first');
    const cancelled = await queue('second');
    await client.locks.cancel({ session_id, ticket: cancelled.ticket });
    at.goDown();
    await at.world.advance(2 * MINUTE_MS);
    await comeBack(at, client);
    await expect.poll(() => gone).toEqual([{ session_id, resource: 'first', ticket }]);
    expect(granted).toEqual([]);
  });

  it('is reported as gone when the client is closed, not when it was given up', async () => {
    await using at = new ClientWorld(LONG_LIFE);
    const { session_id, gone, queue, client } = await begin(at);
    const first = await queue('first');
    await client.locks.cancel({ session_id, ticket: first.ticket });
    const { ticket } = await queue('second');
    await client.close();
    expect(gone).toEqual([{ session_id, resource: 'second', ticket }]);
  });

  it('is reported as gone when its time was over before the client knew of it', async () => {
    await using at = new ClientWorld(LONG_LIFE);
    const { owner, client, granted, gone, lost, queue } = await begin(at);
    const { held, ticket } = await queue('first');
    at.goDown();
    await owner.locks.release(held);
    await at.world.advance(MINUTE_MS);
    await comeBack(at, client);
    await expect.poll(() => gone).toMatchObject([{ ticket }]);
    expect([granted, lost]).toEqual([[], []]);
  });
});

async function begin(at: ClientWorld) {
  const owner = await at.open('owner', at.anotherLink());
  const { session_id } = await owner.sessions.create({});
  const client = await at.open('a');
  await client.sessions.join({ session_id });
  const [granted, gone, lost]: [GrantedTicket[], Ticket[], LostLock[]] = [[], [], []];
  client.on('lease_granted', (lock) => granted.push(lock));
  client.on('ticket_gone', (ticket) => gone.push(ticket));
  client.on('lease_lost', (lock) => lost.push(lock));
  /** The owner has the lock, the client a place behind it. */
  const queue = async (resource: string) => {
    const asked = { session_id, resource };
    const { lock_token } = await owner.locks.acquire({ ...asked, ttl_ms: 10 * MINUTE_MS });
    const wait = { wait_ms: MINUTE_MS, ttl_ms: MINUTE_MS, async: true };
    const queued = await client.locks.acquire({ ...asked, ...wait });
    if (!('ticket' in queued)) return expect.fail('was free');
    return { held: { ...asked, lock_token }, ticket: queued.ticket };
  };
  return { owner, client, session_id, granted, gone, lost, queue };
}

async function comeBack(at: ClientWorld, client: CoordinationClient): Promise<void> {
  const reconnected = once(client, 'reconnected');
  at.link.isDown = false;
  await reconnected;
}
