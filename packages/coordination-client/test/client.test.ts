import { FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import {
  applyUpdate,
  type ContextChange,
  type CoordinationClient,
  openCoordinationClient,
  rpcCodeOf,
} from '../src/index.ts';
import { ClientWorld, FAST } from './support/client-world.ts';
import { MemoryLink } from './support/memory-link.ts';

const reason = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => expect.fail('was not refused'),
    (thrown: unknown) => thrown,
  );
  return rpcCodeOf(error);
};

describe('client', () => {
  it('registers when it connects, and has every method of the services', async () => {
    await using at = new ClientWorld();
    const client = await at.open('a');
    expect(client.epoch).toBeGreaterThan(0);
    expect((await client.agents.get({ agent_id: 'a' })).status).toBe('active');
    const { session_id } = await client.sessions.create({});
    await client.context.update({ session_id, update: { a: 1 }, with_lock: true });
    expect((await client.context.get({ session_id })).context).toEqual({ a: 1 });
    const { chunk_id } = await client.buffer.put({ session_id, content: 'x' });
    expect((await client.buffer.get({ session_id, chunk_id })).content).toBe('x');
    expect((await client.call('mcp.discover', {})).protocol_version).toBe('1.0.0');
  });

  it('rejects with the code and all that the server says', async () => {
    await using at = new ClientWorld();
    const client = await at.open('a');
    const { session_id } = await client.sessions.create({ mode: 'cas' });
    const { version } = await client.context.update({ session_id, update: { a: 1 } });
    await expect(
      client.context.update({ session_id, update: { a: 2 }, if_version: version - 1 }),
    ).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { rpc: -32013, current_version: version, current: { a: 1 } },
    });
  });

  it('fails at once when the first connection or the registration fails', async () => {
    await using at = new ClientWorld();
    at.link.isDown = true;
    await expect(at.open('a')).rejects.toThrow('the link is down');
    at.link.isDown = false;
    await at.world.agent('taken', 'elsewhere');
    expect(await reason(at.open('taken'))).toBe(-32001);
  });

  it('continues after a lost connection in the same registration, with its locks', async () => {
    await using at = new ClientWorld();
    const client = await at.open('a');
    const { session_id } = await client.sessions.create({});
    const { lock_token } = await client.locks.acquire({ session_id });
    const { epoch } = client;
    const seen: string[] = [];
    client.on('disconnected', () => seen.push('disconnected'));
    client.on('reconnected', () => seen.push('reconnected'));
    client.on('lease_lost', () => seen.push('lease lost'));
    at.link.cut();
    await client.context.update({ session_id, update: { a: 1 }, lock_token });
    expect(client.epoch).toBe(epoch);
    expect(at.link.connections).toBe(2);
    expect(seen).toEqual(['disconnected', 'reconnected']);
  });

  it('tries again until the gateway is back, and loses no request meanwhile', async () => {
    await using at = new ClientWorld();
    const client = await at.open('a');
    at.link.isDown = true;
    at.link.cut();
    const created = client.sessions.create({ session_id: 'later' });
    await new Promise((resolve) => setImmediate(resolve));
    at.link.isDown = false;
    expect((await created).session_id).toBe('later');
  });

  it('does a write once even when its answer is lost', async () => {
    await using at = new ClientWorld();
    const client = await at.open('a');
    const { session_id } = await client.sessions.create({ mode: 'cas' });
    for (let n = 0; n < 20; n += 1) {
      let dropped = false;
      at.link.onAnswer = (message) => {
        if (dropped || !('result' in message)) return true;
        dropped = true;
        queueMicrotask(() => at.link.cut());
        return false;
      };
      await client.context.update({ session_id, op: 'increment', update: { n: 1 } });
      await client.context.update({ session_id, op: 'append', update: { list: n } });
    }
    at.link.onAnswer = () => true;
    const { context } = await client.context.get({ session_id });
    expect(context).toEqual({ n: 20, list: Array.from({ length: 20 }, (_, n) => n) });
    expect(at.link.connections).toBeGreaterThan(10);
  });

  it('resumes its subscriptions where they were: nothing lost, nothing doubled', async () => {
    await using at = new ClientWorld();
    const [writer, reader] = [
      await at.open('writer', new MemoryLink(at.world.coordination)),
      await at.open('reader'),
    ];
    const { session_id } = await writer.sessions.create({ mode: 'cas' });
    await reader.sessions.join({ session_id });
    let copy = {};
    const changes: ContextChange[] = [];
    const subscription = await reader.subscribe(
      { session_id },
      {
        update: (change) => {
          changes.push(change);
          copy = applyUpdate(copy, change);
        },
      },
    );
    for (let n = 1; n <= 100; n += 1) {
      const op = n % 3 === 0 ? 'increment' : n % 3 === 1 ? 'append' : 'merge';
      const update = { [op]: n };
      await writer.context.update({ session_id, op, update });
      if (n % 10 === 0) at.link.cut();
      if (n === 50)
        await writer.context.update({ session_id, op: 'patch', update: { merge: null } });
    }
    const { context, version } = await writer.context.get({ session_id });
    await expect.poll(() => changes.at(-1)?.version).toBe(version);
    expect(copy).toEqual(context);
    expect(changes.map((change) => change.version)).toEqual(
      [...new Set(changes.map((change) => change.version))].sort((a, b) => a - b),
    );
    expect(changes).toHaveLength(101);
    expect(subscription.cursor).toBe(version);
    await subscription.close();
    await writer.context.update({ session_id, update: { after: 1 } });
    await reader.context.get({ session_id });
    expect(changes).toHaveLength(101);
  });

  it('keeps equal subscriptions apart, whatever is closed and lost meanwhile', async () => {
    await using at = new ClientWorld();
    const writer = await at.open('writer', new MemoryLink(at.world.coordination));
    const reader = await at.open('reader');
    const { session_id } = await writer.sessions.create({ mode: 'cas' });
    await reader.sessions.join({ session_id });
    const subscribe = async (after?: number) => {
      const seen: number[] = [];
      const update = ({ version }: ContextChange) => void seen.push(version);
      const subscription = await reader.subscribe({ session_id, after }, { update });
      return { subscription, seen };
    };
    const write = async () =>
      (await writer.context.update({ session_id, update: { n: 1 } })).version;
    const [first, second] = [await subscribe(), await subscribe()];
    const versions = [await write()];
    at.link.cut();
    await first.subscription.close();
    versions.push(await write());
    await expect.poll(() => second.seen).toEqual(versions);
    const closing = second.subscription.close();
    versions.push(await write());
    const third = await subscribe(0);
    await closing;
    versions.push(await write());
    await expect.poll(() => third.seen).toEqual(versions);
  });

  it('delivers an update once even if it arrives twice', async () => {
    await using at = new ClientWorld();
    const client = await at.open('a');
    const { session_id } = await client.sessions.create({ mode: 'cas' });
    const seen: number[] = [];
    await client.subscribe({ session_id }, { update: ({ version }) => void seen.push(version) });
    at.link.copies = 2;
    const { version } = await client.context.update({ session_id, update: { a: 1 } });
    const last = await client.context.update({ session_id, update: { a: 2 } });
    await expect.poll(() => seen).toEqual([version, last.version]);
  });

  it('takes a snapshot by itself when updates are gone, and goes on from there', async () => {
    await using at = new ClientWorld({ keepEvents: 10 });
    const [writer, reader] = [
      await at.open('writer', new MemoryLink(at.world.coordination)),
      await at.open('reader'),
    ];
    const { session_id } = await writer.sessions.create({ mode: 'cas' });
    await reader.sessions.join({ session_id });
    const { cursor } = await reader.context.get({ session_id });
    let copy: Readonly<Record<string, unknown>> = {};
    let snapshots = 0;
    at.link.isDown = true;
    at.link.cut();
    await writer.agents.list({});
    for (let n = 0; n < 50; n += 1) await writer.context.update({ session_id, update: { n } });
    await at.world.coordination.services.feeds.close();
    at.link.isDown = false;
    await reader.subscribe(
      { session_id, after: cursor },
      {
        snapshot: ({ context }) => {
          snapshots += 1;
          copy = context;
        },
        update: (change) => {
          copy = applyUpdate(copy as never, change);
        },
      },
    );
    await expect.poll(() => snapshots).toBe(1);
    expect(copy).toEqual({ n: 49 });
    await writer.context.update({ session_id, op: 'increment', update: { n: 1 } });
    await expect.poll(() => copy).toEqual({ n: 50 });
  });

  it('says that a subscription cannot go on, and stays connected', async () => {
    await using at = new ClientWorld();
    const [owner, client] = [
      await at.open('owner', new MemoryLink(at.world.coordination)),
      await at.open('a'),
    ];
    const { session_id } = await owner.sessions.create({});
    await client.sessions.join({ session_id });
    const { promise: ended, resolve } = Promise.withResolvers<FabricError>();
    await client.subscribe({ session_id }, { update: () => {}, ended: resolve });
    at.link.isDown = true;
    at.link.cut();
    await owner.sessions.end({ session_id });
    at.link.isDown = false;
    expect(await ended).toMatchObject({ details: { rpc: -32004 } });
    await client.agents.list({});
    expect(at.link.connections).toBe(2);
  });

  it('sends heartbeats by itself', async () => {
    await using at = new ClientWorld({ heartbeatIntervalMs: 40 });
    const client = await at.open('a');
    const before = (await client.agents.get({ agent_id: 'a' })).last_seen;
    at.world.clock.advance(1);
    await expect
      .poll(async () => (await client.agents.get({ agent_id: 'a' })).last_seen)
      .toBeGreaterThan(before);
  });

  it('registers again when its registration has ended, and reports each lost lock once', async () => {
    await using at = new ClientWorld({ heartbeatIntervalMs: 40 });
    const client = await at.open('a');
    const { session_id } = await client.sessions.create({});
    const lost: unknown[] = [];
    client.on('lease_lost', (lock) => lost.push(lock));
    for (const isAway of [false, true]) {
      const asked = { session_id, resource: 'x', ttl_ms: 3_600_000 };
      const { lock_token } = await client.locks.acquire(asked);
      const { epoch } = client;
      at.link.isDown = isAway;
      if (isAway) at.link.cut();
      await at.world.advance(10_000);
      at.link.isDown = false;
      await expect.poll(() => client.epoch).toBeGreaterThan(epoch);
      const reason = isAway ? 'registered_again' : 'broken';
      expect(lost.splice(0)).toMatchObject([{ session_id, resource: 'x', lock_token, reason }]);
      await client.context.update({ session_id, update: { a: 1 }, with_lock: true });
    }
  });

  it('surfaces lost leases and lost peers', async () => {
    await using at = new ClientWorld();
    const [a, b] = [await at.open('a'), await at.open('b')];
    const { session_id } = await a.sessions.create({});
    await b.sessions.join({ session_id });
    const { lock_token } = await b.locks.acquire({ session_id, ttl_ms: 1_000 });
    const lost = new Promise((resolve) => b.once('lease_lost', resolve));
    const gone = new Promise((resolve) => b.once('agent_disconnected', resolve));
    await at.world.advance(1_500);
    expect(await lost).toMatchObject({
      session_id,
      resource: 'context',
      lock_token,
      reason: 'expired',
    });
    await a.unregister();
    expect(await gone).toMatchObject({ session_id, agent_id: 'a', reason: 'unregistered' });
  });

  it('works under a lock that it keeps and gives back', async () => {
    await using at = new ClientWorld();
    const [a, b] = [await at.open('a'), await at.open('b')];
    const { session_id } = await a.sessions.create({});
    await b.sessions.join({ session_id });
    const order: string[] = [];
    const work = (client: CoordinationClient) =>
      client.withLock({ session_id }, async ({ lock_token, signal }) => {
        order.push(`${client.agentId} in`);
        await client.context.update({
          session_id,
          op: 'append',
          update: { list: client.agentId },
          lock_token,
        });
        expect(signal.aborted).toBe(false);
        order.push(`${client.agentId} out`);
        return client.agentId;
      });
    expect(await Promise.all([work(a), work(b), work(a)])).toEqual(['a', 'b', 'a']);
    for (let n = 0; n < order.length; n += 2) {
      expect(order[n + 1]).toBe(order[n]?.replace('in', 'out'));
    }
    expect((await a.locks.status({ session_id })).locked).toBe(false);
    await expect(
      a.withLock({ session_id }, () => Promise.reject(new Error('failed'))),
    ).rejects.toThrow('failed');
    expect((await a.locks.status({ session_id })).locked).toBe(false);
  });

  it('aborts the work under a lock that is lost', async () => {
    await using at = new ClientWorld();
    const client = await at.open('a');
    const { session_id } = await client.sessions.create({});
    let refused: number | undefined;
    const work = client.withLock({ session_id, ttl_ms: 60_000 }, async ({ signal, lock_token }) => {
      await at.world.advance(60_000);
      await expect.poll(() => signal.aborted).toBe(true);
      refused = await reason(client.context.update({ session_id, update: {}, lock_token }));
    });
    expect(await reason(work)).toBe(-32015);
    expect(refused).toBe(-32015);
  });

  it('computes a result once for many who ask', async () => {
    await using at = new ClientWorld();
    const clients = [await at.open('a'), await at.open('b'), await at.open('c')];
    let computed = 0;
    const results = await Promise.all(
      clients.map((client) =>
        client.cached({
          tool: 'sum',
          params: { of: [1, 2] },
          compute: async () => {
            computed += 1;
            return 3;
          },
        }),
      ),
    );
    expect([results, computed]).toEqual([[3, 3, 3], 1]);
    const [a, b] = clients as [CoordinationClient, CoordinationClient];
    const failing = { tool: 'fails', compute: () => Promise.reject(new Error('no luck')) };
    await expect(a.cached(failing)).rejects.toThrow('no luck');
    expect(await b.cached({ ...failing, compute: async () => 'luck' })).toBe('luck');
  });

  it('rejects what is under way when it is closed, and everything after', async () => {
    await using at = new ClientWorld();
    const client = await at.open('a');
    at.link.onSend = () => false;
    const waiting = client.agents.list({});
    await client.close();
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(client.agents.list({})).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it('stops for good when the gateway does not accept it any more', async () => {
    await using at = new ClientWorld();
    let isWelcome = true;
    const denied = new FabricError('AUTH_DENIED', 'The key was withdrawn');
    const connect = () => (isWelcome ? at.link.connect() : Promise.reject(denied));
    const client = await openCoordinationClient({ connect, agentId: 'a', ...FAST });
    const closed = new Promise((resolve) => client.once('closed', resolve));
    isWelcome = false;
    at.link.cut();
    await expect(client.agents.list({})).rejects.toBe(denied);
    expect(await closed).toBe(denied);
  });

  it('gives up a request that gets no answer', async () => {
    await using at = new ClientWorld();
    const { connect } = at.link;
    const client = await openCoordinationClient({ connect, agentId: 'a', requestMs: 30, ...FAST });
    at.link.onSend = () => false;
    await expect(client.agents.list({})).rejects.toMatchObject({ code: 'TIMEOUT' });
    await client.close();
  });
});
