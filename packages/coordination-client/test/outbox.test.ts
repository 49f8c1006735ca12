// How many requests of a client are under way at once, and which go first.

import { FabricError } from '@starloom/core';
import { expect, it } from 'vitest';
import { openCoordinationClient, webSocketConnect } from '../src/index.ts';
import { MAX_IN_FLIGHT } from '../src/link.ts';
import { FakeGateway } from './support/fake-gateway.ts';

const LIST = 'agent_registry.list';
const ACQUIRE = 'memory_locker.acquire';
const LOCK = { session_id: 's', resource: 'r', lock_token: 1 };
const MORE = 10;

/** A gateway that answers no list, and a client that has asked for more than may be under way. */
async function begin() {
  const gateway = await FakeGateway.open();
  gateway.answers['memory_locker.renew'] = () => ({ result: { expires_at: 1 } });
  gateway.answers['memory_locker.release'] = () => ({ result: { released: true } });
  const connect = webSocketConnect({ url: gateway.url });
  const backoffMs = { least: 1, most: 20 };
  const client = await openCoordinationClient({ connect, agentId: 'a', backoffMs });
  const asked = Array.from({ length: MAX_IN_FLIGHT.brief + MORE }, (_, n) =>
    client.agents.list({ session_id: String(n) }).catch(FabricError.from),
  );
  const indices = () => gateway.of(LIST).map(({ params }) => Number(params.session_id));
  await expect.poll(() => indices().length).toBe(MAX_IN_FLIGHT.brief);
  return {
    gateway,
    client,
    asked,
    indices,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await gateway[Symbol.asyncDispose]();
    },
  };
}

function upTo(end: number): readonly number[] {
  return Array.from({ length: end }, (_, n) => n);
}

it('sends no more than so many at once, and the others in order as answers come', async () => {
  await using at = await begin();
  const { gateway, client, indices } = at;
  await client.locks.renew(LOCK);
  expect(indices()).toEqual(upTo(MAX_IN_FLIGHT.brief));
  for (const { id } of gateway.of(LIST).slice(0, 3)) gateway.say({ id, result: { agents: [] } });
  await expect.poll(indices).toEqual(upTo(MAX_IN_FLIGHT.brief + 3));
});

it('sends renewals and releases ahead of what waits', async () => {
  await using at = await begin();
  const { client, indices } = at;
  await client.locks.renew(LOCK);
  await client.locks.release(LOCK);
  expect(indices()).toHaveLength(MAX_IN_FLIGHT.brief);
});

it('counts apart those that wait on purpose', async () => {
  await using at = await begin();
  const { gateway, client } = at;
  const acquire = (n: number) =>
    client.locks.acquire({ session_id: 's', resource: `r${n}`, wait_ms: 60_000 }).catch(() => {});
  for (const n of upTo(MAX_IN_FLIGHT.waiting + MORE)) void acquire(n);
  await expect.poll(() => gateway.of(ACQUIRE).length).toBe(MAX_IN_FLIGHT.waiting);
  await client.locks.renew(LOCK);
  expect(gateway.of(ACQUIRE)).toHaveLength(MAX_IN_FLIGHT.waiting);
});

it('begins the next connection with what goes first, then the oldest', async () => {
  await using at = await begin();
  const { gateway, client, asked } = at;
  gateway.answers['memory_locker.renew'] = ({ connection }) =>
    connection === 1 ? undefined : { result: { expires_at: 1 } };
  const renewed = client.locks.renew(LOCK);
  await expect.poll(() => gateway.of('memory_locker.renew')).toHaveLength(1);
  gateway.answers[LIST] = () => ({ result: { agents: [] } });
  gateway.cut();
  await renewed;
  for (const answer of await Promise.all(asked)) expect(answer).toEqual({ agents: [] });
  const again = gateway.asked.filter(
    ({ connection, method }) => connection === 2 && method !== 'agent_registry.heartbeat',
  );
  expect(again[0]?.method).toBe('memory_locker.renew');
  expect(again.slice(1).map(({ params }) => Number(params.session_id))).toEqual(upTo(asked.length));
});
