import { type Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { type CoordinationWorld, openCoordinationWorld } from '../coordination-world.ts';
import { open, PipeTransport, SocketTransport, toBearer } from '../message-clients.ts';
import { connect, KEY, STRANGER_KEY } from '../test-gateway.ts';

const uriOf = (session: string) => `starloom://sessions/${session}/context`;
const patience = { timeout: 15_000, interval: 10 };

type Era = 'auto' | 'legacy';

const byStdio = async (world: CoordinationWorld, era: Era) => {
  const transport = new PipeTransport();
  void world.gateway.serveStdio(transport.toServer, transport.fromServer);
  return await open(transport, era);
};
const byWebSocket = async (world: CoordinationWorld, era: Era, key = KEY) => {
  const url = `${world.url.replace('http', 'ws')}/mcp/ws`;
  return await open(new SocketTransport(url, ['mcp', toBearer(key)]), era);
};
const byHttp = (world: CoordinationWorld, era: Era, key = KEY) =>
  connect(world.url, era, { authorization: `Bearer ${key}` });

/** Stdio callers are the principal `local`. */
const principalOf = { stdio: 'local', WebSocket: 'tester', HTTP: 'tester' } as const;

const everyEra = [
  ['HTTP', 'auto', byHttp],
  ['HTTP', 'legacy', byHttp],
  ['WebSocket', 'auto', byWebSocket],
  ['WebSocket', 'legacy', byWebSocket],
  ['stdio', 'auto', byStdio],
  ['stdio', 'legacy', byStdio],
] as const;

async function createSession(world: CoordinationWorld, session_id: string, principal = 'tester') {
  const agent_id = `writer-of-${principal}`;
  await world.act('session_manager.create', { session_id, agent_id, mode: 'cas' }, principal);
  return {
    write: (update: object) =>
      world.act('context_coordinator.update', { session_id, agent_id, update }, principal),
    end: () => world.act('session_manager.end', { session_id, agent_id }, principal),
    leave: () => world.act('session_manager.leave', { session_id, agent_id }, principal),
  };
}

async function readJson(client: Client, session: string) {
  const { contents } = await client.readResource({ uri: uriOf(session) });
  const [content] = contents;
  expect(content).toMatchObject({ uri: uriOf(session), mimeType: 'application/json' });
  return JSON.parse(content && 'text' in content ? content.text : '');
}

/** Subscribes in the way of the client's era; what it is told. */
async function subscribe(client: Client, era: Era, ...sessions: string[]) {
  const updated: string[] = [];
  let lists = 0;
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    updated.push(params.uri);
  });
  client.setNotificationHandler('notifications/resources/list_changed', () => {
    lists += 1;
  });
  const told = { updated, lists: () => lists };
  const uris = sessions.map(uriOf);
  if (era === 'auto') {
    const filter = { resourceSubscriptions: uris, resourcesListChanged: true };
    return { ...told, subscription: await client.listen(filter) };
  }
  for (const uri of uris) await client.subscribeResource({ uri });
  return told;
}

async function refusal(asked: Promise<unknown>): Promise<unknown> {
  const error = await asked.then(
    () => expect.fail('it was not refused'),
    (refused: unknown) => refused,
  );
  const { code, message } = error as { code: number; message: string };
  return { code, message };
}

describe("a session's context as a resource", () => {
  it.each(everyEra)('is listed and read over %s by a client of mode %s', async (by, era, to) => {
    await using world = await openCoordinationWorld();
    const principal = principalOf[by];
    const session = await createSession(world, 's', principal);
    const { version } = await session.write({ outline: ['why'] });
    const client = await to(world, era);
    const { resources } = await client.listResources();
    expect(resources).toMatchObject([{ uri: uriOf('s'), mimeType: 'application/json' }]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain(
      'starloom://sessions/{session_id}/context',
    );
    expect(await readJson(client, 's')).toMatchObject({
      session_id: 's',
      version,
      context: { outline: ['why'] },
    });
    await client.close();
  });

  it('belongs to its principal: an unknown and a forbidden session look the same', async () => {
    await using world = await openCoordinationWorld();
    await createSession(world, 'mine');
    await using stranger = await byHttp(world, 'auto', STRANGER_KEY);
    expect((await stranger.listResources()).resources).toEqual([]);
    const read = (session: string) => refusal(stranger.readResource({ uri: uriOf(session) }));
    expect(await read('mine')).toEqual(await read('nobodys'));
    expect(await read('mine')).toMatchObject({ code: -32602 });
    const legacy = await byWebSocket(world, 'legacy', STRANGER_KEY);
    const follow = (session: string) => refusal(legacy.subscribeResource({ uri: uriOf(session) }));
    expect(await follow('mine')).toEqual(await follow('nobodys'));
    const other = legacy.subscribeResource({ uri: 'starloom:percy:file:///notes' });
    expect(await refusal(other)).toMatchObject({
      message: 'This resource cannot be subscribed to',
    });
    await legacy.close();
  });

  it('is seen through any agent of the principal, and by nobody once the session ended', async () => {
    await using world = await openCoordinationWorld();
    const session = await createSession(world, 's', 'stranger');
    const access = { session_id: 's', principal: 'tester', role: 'reader' };
    await world.act(
      'session_manager.grant',
      { ...access, agent_id: 'writer-of-stranger' },
      'stranger',
    );
    await using client = await byHttp(world, 'auto');
    await expect(readJson(client, 's')).rejects.toMatchObject({ code: -32602 });
    await world.act('session_manager.join', { session_id: 's', agent_id: 'guest' });
    expect(await readJson(client, 's')).toMatchObject({ session_id: 's' });
    await session.end();
    await expect(readJson(client, 's')).rejects.toMatchObject({ code: -32602 });
    expect((await client.listResources()).resources).toEqual([]);
  });

  it('completes session ids of the caller only', async () => {
    await using world = await openCoordinationWorld();
    await createSession(world, 'report-1');
    await createSession(world, 'report-2', 'stranger');
    await using client = await byHttp(world, 'auto');
    const ref = { type: 'ref/resource', uri: 'starloom://sessions/{session_id}/context' } as const;
    const argument = { name: 'session_id', value: 'rep' };
    const { completion } = await client.complete({ ref, argument });
    expect(completion.values).toEqual(['report-1']);
  });
});

describe("updates of a session's context", () => {
  it.each(everyEra)('are told over %s to a client of mode %s', async (by, era, to) => {
    await using world = await openCoordinationWorld();
    const session = await createSession(world, 's', principalOf[by]);
    const other = await createSession(world, 'other', principalOf[by]);
    const client = await to(world, era);
    const told = await subscribe(client, era, 's');
    await other.write({ n: 0 });
    for (let n = 1; n <= 3; n += 1) {
      const before = told.updated.length;
      await session.write({ n });
      await expect.poll(() => told.updated.length, patience).toBeGreaterThan(before);
      expect((await readJson(client, 's')).context).toEqual({ n });
    }
    expect(new Set(told.updated)).toEqual(new Set([uriOf('s')]));
    await client.close();
  });

  it.each(everyEra)('end over %s when a client of mode %s wants no more', async (by, era, to) => {
    await using world = await openCoordinationWorld();
    const [kept, ended] = [
      await createSession(world, 'kept', principalOf[by]),
      await createSession(world, 'ended', principalOf[by]),
    ];
    const client = await to(world, era);
    const told = await subscribe(client, era, 'ended');
    if ('subscription' in told) await told.subscription.close();
    else await client.unsubscribeResource({ uri: uriOf('ended') });
    await expect.poll(() => world.coordination.services.feeds.size, patience).toBeLessThan(2);
    const { updated } = await subscribe(client, era, 'kept');
    await ended.write({ n: 1 });
    await kept.write({ n: 1 });
    await expect.poll(() => updated, patience).toContain(uriOf('kept'));
    expect([...told.updated, ...updated]).not.toContain(uriOf('ended'));
    const { transport } = client;
    if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
    await client.close();
    await expect.poll(() => world.coordination.services.feeds.size, patience).toBe(0);
  });

  it('tell of sessions that come and go, to their principal alone', async () => {
    await using world = await openCoordinationWorld();
    await using listening = await byHttp(world, 'auto');
    await using stranger = await byHttp(world, 'auto', STRANGER_KEY);
    const legacy = await byWebSocket(world, 'legacy');
    const mine = [await subscribe(listening, 'auto'), await subscribe(legacy, 'legacy')];
    const theirs = await subscribe(stranger, 'auto');
    const session = await createSession(world, 's');
    for (const { lists } of mine) await expect.poll(lists, patience).toBeGreaterThan(0);
    const before = mine.map(({ lists }) => lists());
    await session.end();
    for (const [at, { lists }] of mine.entries()) {
      await expect.poll(lists, patience).toBeGreaterThan(before[at] ?? 0);
    }
    expect(theirs.lists()).toBe(0);
    await createSession(world, 'theirs', 'stranger');
    await expect.poll(theirs.lists, patience).toBe(1);
    await legacy.close();
  });

  it('begin when the principal joins and end when it leaves, for one subscription', async () => {
    await using world = await openCoordinationWorld();
    const session = await createSession(world, 's', 'stranger');
    const grant = { session_id: 's', agent_id: 'writer-of-stranger', principal: 'tester' };
    await world.act('session_manager.grant', { ...grant, role: 'reader' }, 'stranger');
    await using client = await byHttp(world, 'auto');
    const { updated } = await subscribe(client, 'auto', 's');
    await session.write({ secret: 1 });
    const guest = { session_id: 's', agent_id: 'guest' };
    expect(updated).toEqual([]);
    await world.act('session_manager.join', guest);
    await expect.poll(() => updated.length, patience).toBe(1);
    await session.write({ secret: 2 });
    await expect.poll(() => updated.length, patience).toBe(2);
    await world.act('session_manager.leave', guest);
    await session.write({ secret: 3 });
    await world.act('session_manager.join', guest);
    await expect.poll(() => updated.length, patience).toBe(3);
    await session.write({ secret: 4 });
    await expect.poll(() => updated.length, patience).toBe(4);
  });

  it.each(['auto', 'legacy'] as const)(
    'are not kept for a client of mode %s that does not read: it gets few, and the last counts',
    async (era) => {
      await using world = await openCoordinationWorld();
      const session = await createSession(world, 's', 'local');
      const transport = new PipeTransport();
      const { fromServer } = transport;
      void world.gateway.serveStdio(transport.toServer, fromServer);
      const client = await open(transport, era);
      const { updated } = await subscribe(client, era, 's');
      fromServer.pause();
      const unread = () => fromServer.readableLength + fromServer.writableLength;
      for (let n = 1; n <= 5_000; n += 1) await session.write({ n });
      expect(unread()).toBeGreaterThan(0);
      expect(unread()).toBeLessThan(256 * 1024);
      fromServer.resume();
      await expect.poll(unread, patience).toBe(0);
      const before = updated.length;
      expect(before).toBeLessThan(3_000);
      await session.write({ n: 'last' });
      await expect.poll(() => updated.length, patience).toBeGreaterThan(before);
      expect((await readJson(client, 's')).context).toEqual({ n: 'last' });
      await client.close();
    },
  );

  it('do not hold up a gateway that closes while a client does not read', async () => {
    await using world = await openCoordinationWorld();
    const session = await createSession(world, 's', 'local');
    const transport = new PipeTransport();
    const { fromServer } = transport;
    const served = world.gateway.serveStdio(transport.toServer, fromServer);
    const client = await open(transport, 'auto');
    await subscribe(client, 'auto', 's');
    fromServer.pause();
    while (!fromServer.writableNeedDrain) await session.write({ n: 1 });
    await world.gateway.close();
    await served;
  });

  it('are promised only for what tells of them', async () => {
    await using world = await openCoordinationWorld();
    await using client = await byHttp(world, 'auto');
    const uris = ['starloom:percy:file:///notes', uriOf('s')];
    const { honoredFilter, close } = await client.listen({ resourceSubscriptions: uris });
    expect(honoredFilter).toEqual({ resourceSubscriptions: [uriOf('s')] });
    await close();
    await using older = await byHttp(world, 'legacy');
    expect(older.getServerCapabilities()?.resources?.subscribe).toBe(true);
    expect(client.getServerCapabilities()?.resources?.subscribe).toBe(true);
  });
});
