import { describe, expect, it } from 'vitest';

import { type Client, World } from './support/world.ts';

const MINUTE_MS = 60_000;
const metadata = { text: 'x'.repeat(1_000) };

const create = (client: Client, n: number) => {
  const session_id = `s${n}`;
  return client.call('session_manager.create', { session_id, idempotency_key: `k${n}`, metadata });
};

const join = (client: Client, n: number) =>
  client.call('session_manager.join', { session_id: 's0', idempotency_key: `j${n}` });

/** As many answers as there is room for. */
async function openFull() {
  const heartbeatIntervalMs = 60 * MINUTE_MS;
  const world = new World({ limits: { idempotency_bytes: 4_000 }, heartbeatIntervalMs });
  const client = await world.agent('a');
  await create(client, 0);
  for (let n = 0; n < 3; n += 1) await join(client, n);
  return { world, client };
}

describe('what is kept of requests with a key', () => {
  it('is bounded per principal: one with a new key is refused and not done', async () => {
    const { world, client } = await openFull();
    await using _ = world;
    const sameOwner = await world.agent('b');
    for (const each of [client, sameOwner]) {
      const one = { session_id: 'never', idempotency_key: 'new' };
      expect(await each.refused('session_manager.create', one)).toMatchObject({
        code: -32016,
        data: { reason: 'quota', limit: 'idempotency_bytes', allowed: 4_000 },
      });
    }
    const { sessions } = await client.call('session_manager.list', {});
    expect(sessions.map(({ session_id }) => session_id)).toEqual(['s0']);
    await client.call('session_manager.create', { session_id: 'without-a-key' });
    await create(await world.agent('c', 'elsewhere'), 1);
  });

  it('is still the answer to a request that comes again, and no other', async () => {
    const { world, client } = await openFull();
    await using _ = world;
    const first = await create(client, 0);
    expect(first).toMatchObject({ session_id: 's0' });
    expect(await create(client, 0)).toEqual(first);
    const other = { session_id: 'other', idempotency_key: 'k0' };
    expect(await client.refused('session_manager.create', other)).toMatchObject({
      data: { reason: 'idempotency_key_reused' },
    });
  });

  it('is forgotten after its time, and then there is room', async () => {
    const { world, client } = await openFull();
    await using _ = world;
    await world.advance(9 * MINUTE_MS);
    const one = { session_id: 'later', idempotency_key: 'new' };
    expect((await client.refused('session_manager.create', one)).code).toBe(-32016);
    await world.advance(2 * MINUTE_MS);
    await client.call('session_manager.create', one);
  });

  it('is nothing when the request was refused', async () => {
    await using world = new World({ limits: { idempotency_bytes: 4_000 } });
    const client = await world.agent('a');
    for (let n = 0; n < 20; n += 1) {
      const params = { session_id: 'none', idempotency_key: 'k'.repeat(200) + n };
      expect((await client.refused('session_manager.join', params)).code).toBe(-32004);
    }
    await create(client, 0);
  });
});
