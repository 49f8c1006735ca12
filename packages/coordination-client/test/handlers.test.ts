// What handlers of the agent throw is theirs: it is reported, and changes nothing else.

import { type Log, silentLog } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { openCoordinationClient } from '../src/index.ts';
import { ClientWorld, FAST } from './support/client-world.ts';

const fail = () => {
  throw new Error('failed');
};
const failLater = async () => await Promise.reject(new Error('failed later'));

async function openWithLog(at: ClientWorld) {
  const failed: unknown[] = [];
  const log: Log = { ...silentLog, error: ({ handler }) => void failed.push(handler) };
  const { connect } = at.link;
  const client = await openCoordinationClient({ connect, agentId: 'a', log, ...FAST });
  return { client, failed, [Symbol.asyncDispose]: () => client.close() };
}

describe('handlers', () => {
  it.each([
    ['at once', fail],
    ['later', failLater],
  ])('that throw %s keep no connection from being made', async (_, handler) => {
    await using at = new ClientWorld();
    await using opened = await openWithLog(at);
    const { client, failed } = opened;
    client.on('disconnected', handler).on('reconnected', handler);
    const told = new Promise<void>((resolve) => client.once('reconnected', resolve));
    at.link.cut();
    await client.agents.list({});
    await told;
    await expect.poll(() => failed).toEqual(['disconnected', 'reconnected']);
    expect(at.link.connections).toBe(2);
  });

  it('of lost locks run also when a handler of a new registration fails', async () => {
    await using at = new ClientWorld({ heartbeatIntervalMs: 40 });
    await using opened = await openWithLog(at);
    const { client, failed } = opened;
    const { session_id } = await client.sessions.create({});
    const asked = { session_id, ttl_ms: 3_600_000 };
    const { lock_token } = await client.locks.acquire(asked);
    const lost: unknown[] = [];
    client.on('registered_again', fail).on('lease_lost', fail);
    client.on('lease_lost', (lock) => void lost.push(lock));
    at.goDown();
    await at.world.advance(10_000);
    at.link.isDown = false;
    await expect.poll(() => lost).toMatchObject([{ session_id, lock_token }]);
    await expect
      .poll(() => failed)
      .toEqual(expect.arrayContaining(['registered_again', 'lease_lost']));
    await client.context.update({ session_id, update: { a: 1 }, with_lock: true });
  });

  it('run one after the other for updates, also when they are slow or fail', async () => {
    await using at = new ClientWorld();
    await using opened = await openWithLog(at);
    const { client, failed } = opened;
    const { session_id } = await client.sessions.create({ mode: 'cas' });
    const steps: string[] = [];
    const update = async ({ update: { n } }: { update: Readonly<Record<string, unknown>> }) => {
      steps.push(`${n} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      steps.push(`${n} ends`);
      if (n === 1) await failLater();
    };
    await client.subscribe({ session_id }, { update });
    await Promise.all([1, 2].map((n) => client.context.update({ session_id, update: { n } })));
    await expect.poll(() => steps).toEqual(['1 begins', '1 ends', '2 begins', '2 ends']);
    expect(failed).toEqual(['update']);
  });

  it('cause a process warning when they throw and the client has no log', async () => {
    await using at = new ClientWorld();
    const client = await at.open('a');
    const warnings: string[] = [];
    const onWarning = ({ name, message }: Error) => void warnings.push(`${name}: ${message}`);
    process.on('warning', onWarning);
    client.once('session_changed', fail);
    client.emit('session_changed', { session_id: 's', agent_id: 'b', cursor: 1, state: 'ended' });
    const expected = 'CoordinationWarning: coordination: the handler of "session_changed" failed';
    await expect.poll(() => warnings).toContain(expected);
    process.off('warning', onWarning);
  });
});

describe('notices', () => {
  it('are reported by session when the client may have missed them', async () => {
    await using at = new ClientWorld();
    const owner = await at.open('owner', at.anotherLink());
    const client = await at.open('a');
    const { session_id: goesOn } = await owner.sessions.create({});
    const { session_id: ends } = await owner.sessions.create({});
    const { session_id: left } = await owner.sessions.create({});
    for (const session_id of [goesOn, ends, left]) await client.sessions.join({ session_id });
    await client.sessions.leave({ session_id: left });
    const missed: string[] = [];
    client.on('notices_missed', ({ session_id }) => void missed.push(session_id));
    at.goDown();
    await owner.sessions.suspend({ session_id: goesOn });
    await owner.sessions.end({ session_id: ends });
    at.link.isDown = false;
    await expect.poll(() => missed.toSorted()).toEqual([goesOn, ends].toSorted());
  });
});
