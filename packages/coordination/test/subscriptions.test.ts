import { describe, expect, it } from 'vitest';
import { type Client, World } from './support/world.ts';

async function open(world: World) {
  const writer = await world.agent('writer');
  const reader = await world.agent('reader');
  const { session_id } = await writer.call('session_manager.create', { mode: 'cas' });
  await reader.call('session_manager.join', { session_id });
  const write = async (update: Record<string, string | number>) =>
    (await writer.call('context_coordinator.update', { session_id, update })).version;
  return { writer, reader, session_id, write };
}

const updates = (client: Client) =>
  client.pushed('context_coordinator.update').map(({ update }) => update);

describe('subscriptions', () => {
  it('push each update once and in order, with author, version and cursor', async () => {
    await using world = new World();
    const { reader, session_id, write } = await open(world);
    const before = await write({ a: 0 });
    const { subscription_id, version } = await reader.call('context_coordinator.subscribe', {
      session_id,
    });
    expect(version).toBe(before);
    const versions: number[] = [];
    for (let n = 1; n <= 50; n += 1) versions.push(await write({ a: n }));
    await expect.poll(() => updates(reader)).toHaveLength(50);
    expect(reader.pushed('context_coordinator.update')).toEqual(
      versions.map((v, index) => ({
        session_id,
        subscription_id,
        agent_id: 'writer',
        op: 'merge',
        update: { a: index + 1 },
        version: v,
        cursor: v,
      })),
    );
  });

  it('lose and double nothing across reconnects', async () => {
    await using world = new World();
    const { reader, session_id, write } = await open(world);
    const { cursor: start } = await reader.call('context_coordinator.get', { session_id });
    const seen: unknown[] = [];
    let cursor = start;
    let written = 0;
    for (let connection = 0; connection < 20; connection += 1) {
      const client = world.connect();
      await client.call('context_coordinator.subscribe', {
        agent_id: 'reader',
        session_id,
        after: cursor,
      });
      for (let n = 0; n < 7; n += 1) {
        written += 1;
        await write({ n: written });
        if (n === connection % 7) await new Promise((resolve) => setImmediate(resolve));
      }
      await client.peer.close();
      const got = client.pushed('context_coordinator.update');
      seen.push(...got.map(({ update }) => (update as { n: number }).n));
      cursor = Number(got.at(-1)?.cursor ?? cursor);
      written += 1;
      await write({ n: written });
    }
    const last = world.connect();
    const params = { agent_id: 'reader', session_id, after: cursor };
    await last.call('context_coordinator.subscribe', params);
    await expect.poll(() => seen.length + updates(last).length).toBe(written);
    seen.push(...updates(last).map((update) => (update as { n: number }).n));
    expect(seen).toEqual(Array.from({ length: written }, (_, n) => n + 1));
  });

  it('replay what was missed from a cursor, then go on live', async () => {
    await using world = new World();
    const { reader, session_id, write } = await open(world);
    const { cursor } = await reader.call('context_coordinator.get', { session_id });
    for (let n = 0; n < 3_000; n += 1) await write({ n });
    await reader.call('context_coordinator.subscribe', { session_id, after: cursor });
    await write({ n: 3_000 });
    await expect.poll(() => updates(reader).length, { timeout: 10_000 }).toBe(3_001);
    expect(updates(reader).map((update) => (update as { n: number }).n)).toEqual(
      Array.from({ length: 3_001 }, (_, n) => n),
    );
  });

  it('filter by prefixes of keys, by author and by type', async () => {
    await using world = new World();
    const { writer, reader, session_id, write } = await open(world);
    const watch = async (params: object) => {
      const client = world.connect();
      await client.call('context_coordinator.subscribe', {
        agent_id: 'reader',
        session_id,
        ...params,
      });
      return client;
    };
    const byKey = await watch({ keys: ['report/'] });
    const byAuthor = await watch({ authors: ['reader'] });
    const byType = await watch({ types: ['session.agent_joined', 'session.agent_left'] });
    await write({ 'report/a': 1, other: 2 });
    await write({ other: 3 });
    await writer.call('context_coordinator.update', {
      session_id,
      op: 'patch',
      update: { 'report/a': null, other: null },
    });
    await reader.call('context_coordinator.update', { session_id, update: { mine: 1 } });
    const guest = await world.agent('guest');
    await guest.call('session_manager.join', { session_id });
    await guest.call('session_manager.leave', { session_id });
    await write({ 'report/end': 1 });
    await expect.poll(() => updates(byKey)).toEqual([{ 'report/a': 1 }, {}, { 'report/end': 1 }]);
    expect(byKey.pushed('context_coordinator.update')[1]).toMatchObject({ removed: ['report/a'] });
    await expect.poll(() => updates(byAuthor)).toEqual([{ mine: 1 }]);
    await expect
      .poll(() => byType.pushed('context_coordinator.event'))
      .toMatchObject([
        { type: 'session.agent_joined', agent_id: 'guest' },
        { type: 'session.agent_left', agent_id: 'guest' },
      ]);
    expect(updates(byType)).toEqual([]);
  });

  it('say aloud that there is a gap when the cursor is too old, and go on after it', async () => {
    await using world = new World({ keepEvents: 10 });
    const { reader, session_id, write } = await open(world);
    const { cursor } = await reader.call('context_coordinator.get', { session_id });
    for (let n = 0; n < 50; n += 1) await write({ n });
    const elsewhere = world.another();
    const late = world.connect('ci', { coordination: elsewhere });
    const params = { agent_id: 'reader', session_id };
    await late.call('context_coordinator.subscribe', { ...params, after: cursor });
    await expect.poll(() => late.pushed('context_coordinator.snapshot_required')).toHaveLength(1);
    const snapshot = await late.call('context_coordinator.get', params);
    const [gap] = late.pushed('context_coordinator.snapshot_required');
    expect(gap).toMatchObject({ session_id, version: snapshot.version, cursor: snapshot.cursor });
    await write({ n: 50 });
    await expect.poll(() => updates(late)).toEqual([{ n: 50 }]);
    await elsewhere.close();
  });

  it('keep no queue for a slow reader: it has to take a snapshot, and other readers do not wait', async () => {
    await using world = new World({ limits: { backlog_events: 100 } });
    const { reader, session_id, write } = await open(world);
    const got: { method: string; cursor: number }[] = [];
    let proceed = Promise.withResolvers<void>();
    const slow = world.connect('ci', {
      push: async (method, params) => {
        got.push({ method, cursor: (params as { cursor: number }).cursor });
        await proceed.promise;
      },
    });
    await slow.call('context_coordinator.subscribe', { agent_id: 'reader', session_id });
    await reader.call('context_coordinator.subscribe', { session_id });
    await write({ n: 0 });
    await expect.poll(() => got.length).toBe(1);
    for (let n = 1; n <= 2_000; n += 1) await write({ n });
    await expect.poll(() => updates(reader).length, { timeout: 10_000 }).toBe(2_001);
    expect(got).toHaveLength(1);
    proceed.resolve();
    const { cursor } = await reader.call('context_coordinator.get', { session_id });
    await expect.poll(() => got.at(-1)?.method).toBe('context_coordinator.snapshot_required');
    expect(got.length).toBeLessThan(600);
    expect(got.at(-1)?.cursor).toBe(cursor);
    proceed = Promise.withResolvers();
    proceed.resolve();
    const next = await write({ n: 2_001 });
    await expect
      .poll(() => got.at(-1))
      .toEqual({ method: 'context_coordinator.update', cursor: next });
  });

  it('push nothing to a former member, also when the event of its leaving was skipped', async () => {
    await using world = new World();
    const { writer, reader, session_id, write } = await open(world);
    await reader.call('context_coordinator.subscribe', { session_id });
    const room = reader.stopReading();
    for (let n = 0; n < 1_500; n += 1) await write({ n });
    await writer.call('session_manager.revoke', { session_id, member: 'reader' });
    for (let n = 0; n < 1_500; n += 1) await write({ secret: n });
    room();
    const ended = { session_id, reason: 'not_a_member' };
    await expect
      .poll(() => reader.pushed('context_coordinator.subscription_ended'))
      .toEqual([expect.objectContaining(ended)]);
    await write({ secret: 'last' });
    expect(updates(reader).filter((update) => Object.hasOwn(Object(update), 'secret'))).toEqual([]);
    expect(reader.pushed('context_coordinator.snapshot_required')).toEqual([]);
  });

  it('keep the notices of a slow reader for it', async () => {
    await using world = new World();
    const { writer, reader, session_id, write } = await open(world);
    await reader.call('context_coordinator.subscribe', { session_id });
    const room = reader.stopReading();
    for (let n = 0; n < 1_500; n += 1) await write({ n });
    const other = await world.agent('other');
    await other.call('session_manager.join', { session_id });
    await other.call('session_manager.leave', { session_id });
    for (let n = 0; n < 1_500; n += 1) await write({ n });
    room();
    await writer.call('context_coordinator.get', { session_id });
    await expect
      .poll(() => reader.pushed('session_manager.agent_left'))
      .toEqual([expect.objectContaining({ agent_id: 'other' })]);
    expect(reader.pushed('session_manager.agent_joined')).toHaveLength(1);
    await expect.poll(() => reader.pushed('context_coordinator.snapshot_required')).toHaveLength(1);
    expect(reader.pushed('session_manager.notices_missed')).toEqual([]);
  });

  it('say that notices are lost when the log does not go back far enough', async () => {
    await using world = new World({ keepEvents: 100 });
    const { reader, session_id, write } = await open(world);
    await reader.call('context_coordinator.subscribe', { session_id });
    const other = await world.agent('other');
    const room = reader.stopReading();
    await other.call('session_manager.join', { session_id });
    await other.call('session_manager.leave', { session_id });
    for (let n = 0; n < 1_500; n += 1) await write({ n });
    room();
    await expect
      .poll(() => reader.pushed('session_manager.notices_missed'))
      .toEqual([expect.objectContaining({ session_id })]);
  });

  it('end when asked, when the member leaves, and with the session', async () => {
    await using world = new World();
    const { writer, reader, session_id, write } = await open(world);
    const { subscription_id } = await reader.call('context_coordinator.subscribe', { session_id });
    await write({ n: 1 });
    await expect.poll(() => updates(reader)).toHaveLength(1);
    const params = { subscription_id };
    expect(await reader.call('context_coordinator.unsubscribe', params)).toEqual({
      unsubscribed: true,
    });
    expect(await reader.call('context_coordinator.unsubscribe', params)).toEqual({
      unsubscribed: false,
    });
    await reader.call('context_coordinator.subscribe', { session_id });
    await reader.call('context_coordinator.subscribe', { session_id });
    const all = { session_id };
    expect((await reader.call('context_coordinator.unsubscribe', all)).unsubscribed).toBe(true);
    expect((await reader.call('context_coordinator.unsubscribe', all)).unsubscribed).toBe(false);
    await write({ n: 1.5 });
    await reader.call('context_coordinator.subscribe', { session_id });
    await reader.call('session_manager.leave', { session_id });
    await write({ n: 2 });
    await writer.call('context_coordinator.subscribe', { session_id });
    await write({ n: 3 });
    await expect.poll(() => updates(writer)).toHaveLength(1);
    expect(updates(reader)).toHaveLength(1);
    await writer.call('session_manager.end', { session_id });
    await expect.poll(() => world.coordination.services.feeds.size).toBe(0);
  });

  it('go on past the time when the member was away', async () => {
    await using world = new World();
    const { reader, session_id, write } = await open(world);
    await write({ n: 1 });
    await reader.call('session_manager.leave', { session_id });
    await reader.call('session_manager.join', { session_id });
    await reader.call('context_coordinator.subscribe', { session_id, after: 0 });
    await write({ n: 2 });
    await expect.poll(() => updates(reader)).toEqual([{ n: 1 }, { n: 2 }]);
    expect(reader.pushed('context_coordinator.subscription_ended')).toEqual([]);
  });

  it('leave nothing behind when a connection closes', async () => {
    await using world = new World();
    const { writer, reader, session_id } = await open(world);
    await reader.call('context_coordinator.subscribe', { session_id });
    expect(world.coordination.services.feeds.size).toBe(1);
    await reader.peer.close();
    await writer.peer.close();
    await expect.poll(() => world.coordination.services.feeds.size).toBe(0);
  });

  it('give a client that cannot be pushed to the cursor to read on from', async () => {
    await using world = new World();
    const { session_id, write } = await open(world);
    const poller = world.connect('ci', { push: null });
    const params = { agent_id: 'reader', session_id };
    const { cursor } = await poller.call('context_coordinator.subscribe', params);
    await write({ n: 1 });
    await write({ n: 2 });
    const page = await poller.call('context_coordinator.events', { ...params, after: cursor });
    expect(page.events).toMatchObject([
      { type: 'context.update', update: { n: 1 } },
      { type: 'context.update', update: { n: 2 } },
    ]);
    const next = { ...params, after: page.cursor };
    expect((await poller.call('context_coordinator.events', next)).events).toEqual([]);
  });

  it('say in a page of events that there is a gap', async () => {
    await using world = new World({ keepEvents: 10 });
    const { reader, session_id, write } = await open(world);
    for (let n = 0; n < 50; n += 1) await write({ n });
    const page = await reader.call('context_coordinator.events', { session_id, after: 1 });
    const { cursor } = await reader.call('context_coordinator.get', { session_id });
    expect(page).toEqual({ events: [], cursor, snapshot_required: true });
  });

  it('reach every gateway on the same store', async () => {
    await using world = new World();
    const { session_id, write } = await open(world);
    const elsewhere = world.another();
    const client = world.connect('ci', { coordination: elsewhere });
    await client.call('context_coordinator.subscribe', { agent_id: 'reader', session_id });
    await write({ n: 1 });
    await expect.poll(() => updates(client)).toEqual([{ n: 1 }]);
    await elsewhere.close();
  });

  it('have an id that names what is subscribed to; only equal ones of a connection differ', async () => {
    await using world = new World();
    const { writer, reader, session_id, write } = await open(world);
    const subscribe = async (client: Client, filter: { keys?: string[] } = {}) => {
      const params = { session_id, ...filter };
      return (await client.call('context_coordinator.subscribe', params)).subscription_id;
    };
    const [one, ...equal] = await Promise.all([1, 2, 3].map(() => subscribe(reader)));
    expect(equal).toEqual([`${one}-2`, `${one}-3`]);
    expect(await subscribe(writer)).toBe(one);
    const filtered = await subscribe(reader, { keys: ['b'] });
    expect(filtered).not.toBe(one);
    const idsPushed = (client: Client) =>
      client.pushed('context_coordinator.update').map(({ subscription_id }) => subscription_id);
    await write({ a: 1 });
    await expect.poll(() => idsPushed(reader)).toEqual([one, ...equal]);
    const unsubscribe = { session_id, subscription_id: one };
    await reader.call('context_coordinator.unsubscribe', unsubscribe);
    await write({ b: 1 });
    await expect.poll(() => idsPushed(reader).slice(3)).toEqual([...equal, filtered]);
    expect(idsPushed(writer)).toEqual([one, one]);
    expect(await subscribe(reader)).toBe(one);
  });

  it('are bounded in number per connection', async () => {
    await using world = new World({ limits: { subscriptions_per_connection: 2 } });
    const { reader, session_id } = await open(world);
    await reader.call('context_coordinator.subscribe', { session_id });
    await reader.call('context_coordinator.subscribe', { session_id });
    expect(await reader.refused('context_coordinator.subscribe', { session_id })).toMatchObject({
      code: -32016,
      data: { limit: 'subscriptions_per_connection' },
    });
  });
});
