import { FabricError, manifestSchema } from '@starloom/core';
import type { MemoryAgent } from '@starloom/core/testing';
import { createPskVerifier } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { answers, KEY, openTestGateway, STRANGER_KEY, type TestAgent } from '../test-gateway.ts';
import { EventReader, INITIALIZE, OlderClient } from './older-client.ts';

const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'];
const agents: Record<string, TestAgent> = {
  percy: { run: answers('well', { type: 'token', data: { text: 'we' } }) },
};
const unknownSession = {
  status: 404,
  messages: [{ error: { data: { error: { details: { reason: 'unknown_session' } } } } }],
};

/** An agent that says something, waits for the test, and says something more. */
function patientAgent() {
  const started = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<unknown>();
  const run: MemoryAgent = async function* (_, signal) {
    signal.addEventListener('abort', () => stopped.resolve(signal.reason), { once: true });
    yield { type: 'token', data: { text: 'before' } };
    started.resolve();
    await Promise.race([release.promise, stopped.promise]);
    if (signal.aborted) throw signal.reason;
    yield { type: 'token', data: { text: 'after' } };
    yield { type: 'final', data: { answer: 'done' } };
  };
  return { run, started: started.promise, release: release.resolve, stopped: stopped.promise };
}

async function addAgent({ registry }: Awaited<ReturnType<typeof openTestGateway>>, id = 'late') {
  const endpoint = { transport: 'http', uri: 'http://127.0.0.1:1/' };
  const capabilities = [{ name: 'come' }];
  await registry.register(manifestSchema.parse({ agent_id: id, endpoint, capabilities }));
}

describe('a session of an older client over HTTP', () => {
  it.each(VERSIONS)(
    '[G1] of revision %s begins with initialize and serves calls',
    async (version) => {
      await using gateway = await openTestGateway(agents);
      const client = new OlderClient(gateway.url, { version });
      const { messages, type } = await client.initialize();
      expect(messages[0].result).toMatchObject({
        protocolVersion: version,
        capabilities: { tools: { listChanged: true }, logging: {} },
      });
      expect(type).toBe('application/json');
      const called = await client.call('fabric.call', { capability: 'work' });
      expect(called).toMatchObject({ status: 200, type: 'application/json' });
      expect(called.messages[0].result.structuredContent.result.answer).toBe('well');
      expect(called.sessionId).toBe(client.sessionId);
      const listed = await client.request('tools/list');
      expect(listed.messages[0].result.tools.length).toBeGreaterThan(4);
    },
  );

  it('knows the name of the client, by which the spelling of tool names is chosen', async () => {
    await using gateway = await openTestGateway(agents);
    const names = async (name: string) => {
      const client = await OlderClient.open(gateway.url, { name });
      const { messages } = await client.request('tools/list');
      return messages[0].result.tools.map((tool: { name: string }) => tool.name);
    };
    expect(await names('claude-code')).toContain('percy_work');
    expect(await names('my-script')).toContain('percy.work');
    const without = new OlderClient(gateway.url);
    const { messages } = await without.request('tools/list');
    expect(messages[0].result.tools[0].name).toBe('percy_work');
  });

  it('lists the toolsets that each request asks for', async () => {
    await using gateway = await openTestGateway(agents);
    const client = await OlderClient.open(gateway.url);
    const { messages } = await client.post(
      { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      { 'x-mcp-toolsets': 'agents' },
    );
    expect(messages[0].result.tools.map(({ name }: { name: string }) => name)).toEqual([
      'percy.work',
    ]);
  });

  it('streams events to a client with a progress token, and numbers them', async () => {
    await using gateway = await openTestGateway(agents);
    const client = await OlderClient.open(gateway.url);
    const { type, messages } = await client.call('percy.work', {}, { progressToken: 't' });
    expect(type).toBe('text/event-stream');
    expect(messages.length).toBeGreaterThan(3);
    expect(messages.at(-1).result.content).toEqual([{ type: 'text', text: 'well' }]);
    expect(messages[0].params.progressToken).toBe('t');
  });

  it('is one for its principal alone, until it is deleted', async () => {
    await using gateway = await openTestGateway(agents);
    const client = await OlderClient.open(gateway.url);
    const stranger = new OlderClient(gateway.url, { key: STRANGER_KEY });
    stranger.sessionId = client.sessionId;
    expect(await stranger.request('tools/list')).toMatchObject(unknownSession);
    expect((await stranger.send('GET')).status).toBe(404);
    expect((await stranger.send('DELETE')).status).toBe(404);
    expect((await client.request('ping')).status).toBe(200);
    expect((await client.send('DELETE')).status).toBe(200);
    expect(await client.request('ping')).toMatchObject(unknownSession);
    expect((await client.send('DELETE')).status).toBe(404);
    expect((await client.send('GET')).status).toBe(404);
  });

  it('gives each request the rights of its own credentials, not of those it began with', async () => {
    const narrow = 'narrow-key-0123456789abcdef';
    const common = { principal: 'tester', tier: 'org' } as const;
    const psk = createPskVerifier([
      { ...common, key_id: 'wide', key: KEY, scopes: ['*'] },
      { ...common, key_id: 'narrow', key: narrow, scopes: ['agent:other'] },
    ]);
    await using gateway = await openTestGateway(agents, { psk });
    const wide = await OlderClient.open(gateway.url);
    const client = new OlderClient(gateway.url, { key: narrow });
    client.sessionId = wide.sessionId;
    expect((await wide.call('percy.work')).messages[0].result.isError).toBeUndefined();
    expect((await client.call('percy.work')).messages[0].error.code).toBe(-32_602);
    const { messages } = await client.request('tools/list');
    const names = messages[0].result.tools.map(({ name }: { name: string }) => name);
    expect(names).not.toContain('percy.work');
  });

  it('is needed by no request: without one, older clients are served as well', async () => {
    await using gateway = await openTestGateway(agents);
    const client = new OlderClient(gateway.url);
    const { messages, sessionId } = await client.call('percy.work');
    expect(messages[0].result.content[0].text).toBe('well');
    expect(sessionId).toBeNull();
    expect((await client.send('GET')).status).toBe(405);
    expect((await client.send('DELETE')).status).toBe(405);
  });

  it('tells a client that listens of changed lists', async () => {
    await using gateway = await openTestGateway(agents);
    const client = await OlderClient.open(gateway.url);
    const reader = await client.listen();
    expect(reader.response.headers.get('content-type')).toContain('text/event-stream');
    await addAgent(gateway);
    expect(await reader.nextMessage()).toMatchObject({
      method: 'notifications/tools/list_changed',
    });
    reader.leave();
  });

  it('has one stream to listen on: the newer one takes over', async () => {
    await using gateway = await openTestGateway(agents);
    const client = await OlderClient.open(gateway.url);
    const first = await client.listen();
    const second = await client.listen();
    expect(await first.nextMessage()).toBeUndefined();
    await addAgent(gateway);
    expect((await second.nextMessage()).method).toMatch(/list_changed$/);
    second.leave();
  });

  it('resumes the stream that broke, with what was missed', async () => {
    await using gateway = await openTestGateway(agents);
    const client = await OlderClient.open(gateway.url);
    const first = await client.listen();
    const begun = await first.next();
    expect(begun).toMatchObject({ id: expect.any(String), message: undefined });
    first.leave();
    await addAgent(gateway);
    const again = await client.listen({ 'last-event-id': begun?.id ?? '' });
    expect((await again.nextMessage()).method).toMatch(/list_changed$/);
    again.leave();
  });

  it('goes on with a call whose stream broke, and gives the rest to the client that resumes', async () => {
    const agent = patientAgent();
    await using gateway = await openTestGateway({ percy: { run: agent.run } });
    const client = await OlderClient.open(gateway.url);
    const control = new AbortController();
    const params = { name: 'percy.work', arguments: {}, _meta: { progressToken: 1 } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'tools/call', params });
    const stream = new EventReader(await client.send('POST', {}, body, control.signal), control);
    let last = await stream.next();
    while (last?.message?.params?.message !== 'before') last = await stream.next();
    await agent.started;
    stream.leave();
    agent.release();
    const rest = await client.listen({ 'last-event-id': last.id ?? '' });
    const missed = [];
    for (let event = await rest.next(); event; event = await rest.next())
      missed.push(event.message);
    expect(missed[0].params.message).toBe('after');
    expect(missed.at(-1)).toMatchObject({ id: 5, result: { content: [{ text: 'done' }] } });
    const twice = await client.listen({ 'last-event-id': last.id ?? '' });
    expect((await twice.nextMessage()).params.message).toBe('after');
    twice.leave();
  });

  it.each([
    ['by the lean lane', 'percy.work'],
    ['by the SDK', 'fabric.call'],
  ])('stops a call, %s, that the client cancels, and answers it with nothing', async (_, name) => {
    const agent = patientAgent();
    await using gateway = await openTestGateway({ percy: { run: agent.run } });
    const client = await OlderClient.open(gateway.url);
    const args = name === 'percy.work' ? {} : { capability: 'work' };
    const meta = name === 'percy.work' ? {} : { 'io.modelcontextprotocol/other': 1 };
    const calling = client.call(name, args, meta, 7);
    await agent.started;
    const cancelled = { requestId: 7, reason: 'enough' };
    const method = 'notifications/cancelled';
    const { status } = await client.post({ jsonrpc: '2.0', method, params: cancelled });
    expect(status).toBe(202);
    expect((await calling).messages).toEqual([]);
    expect(await agent.stopped).toMatchObject({ code: 'CANCELLED' });
    expect((await client.request('ping', {}, 7)).status).toBe(200);
  });

  it('stops a call whose client is gone and cannot get the answer', async () => {
    const agent = patientAgent();
    await using gateway = await openTestGateway({ percy: { run: agent.run } });
    const client = await OlderClient.open(gateway.url);
    const control = new AbortController();
    const params = { name: 'percy.work', arguments: {} };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'tools/call', params });
    const calling = client.send('POST', {}, body, control.signal);
    await agent.started;
    control.abort();
    await expect(calling).rejects.toThrow();
    expect(await agent.stopped).toMatchObject({ code: 'CANCELLED' });
  });

  it('sends log messages from the level on that the client set', async () => {
    const levels = ['debug', 'warning', 'error'];
    const run: MemoryAgent = async function* (_envelope, _signal, { notify }) {
      for (const level of levels) {
        await notify?.({
          method: 'notifications/message',
          params: { level, data: 'said', logger: 'percy' },
        });
      }
      yield { type: 'final', data: { answer: 'ok' } };
    };
    await using gateway = await openTestGateway({ percy: { run } });
    const client = await OlderClient.open(gateway.url);
    const heard = async () => {
      const { messages } = await client.call('percy.work');
      return messages.slice(0, -1).map(({ params }) => params.level);
    };
    expect(await heard()).toEqual(levels);
    await client.request('logging/setLevel', { level: 'warning' });
    expect(await heard()).toEqual(['warning', 'error']);
  });

  it('has its resumed call answered before the gateway closes', async () => {
    const agent = patientAgent();
    await using gateway = await openTestGateway({ percy: { run: agent.run } });
    const client = await OlderClient.open(gateway.url);
    const control = new AbortController();
    const params = { name: 'percy.work', arguments: {}, _meta: { progressToken: 1 } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'tools/call', params });
    const stream = new EventReader(await client.send('POST', {}, body, control.signal), control);
    const first = await stream.next();
    await agent.started;
    stream.leave();
    const rest = await client.listen({ 'last-event-id': first?.id ?? '' });
    const closing = gateway.gateway.close();
    agent.release();
    const missed = [];
    for (let event = await rest.next(); event; event = await rest.next())
      missed.push(event.message);
    expect(missed.at(-1)).toMatchObject({ id: 5, result: { content: [{ text: 'done' }] } });
    await closing;
  });

  it('ends when the gateway closes, while clients listen', async () => {
    await using gateway = await openTestGateway(agents);
    const client = await OlderClient.open(gateway.url);
    const reader = await client.listen();
    const closing = gateway.gateway.close();
    expect(await reader.nextMessage()).toBeUndefined();
    await closing;
  });
});

describe('sessions of older clients are bounded', () => {
  it('per principal: a new one takes the place of the one that was unused for longest', async () => {
    await using gateway = await openTestGateway(agents, { sessions: { perPrincipal: 3 } });
    const stranger = await OlderClient.open(gateway.url, { key: STRANGER_KEY });
    const first = await OlderClient.open(gateway.url);
    const second = await OlderClient.open(gateway.url);
    const third = await OlderClient.open(gateway.url);
    await first.request('ping');
    await OlderClient.open(gateway.url);
    expect((await first.request('ping')).status).toBe(200);
    expect(await second.request('ping')).toMatchObject(unknownSession);
    expect((await third.request('ping')).status).toBe(200);
    expect((await stranger.request('ping')).status).toBe(200);
  });

  it('and refused while all of them are in use', async () => {
    await using gateway = await openTestGateway(agents, { sessions: { perPrincipal: 2 } });
    const readers = [];
    for (let n = 0; n < 2; n += 1) {
      readers.push(await (await OlderClient.open(gateway.url)).listen());
    }
    const { status, messages, sessionId } = await new OlderClient(gateway.url).initialize();
    expect(status).toBe(429);
    expect(sessionId).toBeNull();
    expect(messages[0].error.data.error).toMatchObject({
      code: 'RATE_LIMITED',
      details: { reason: 'too_many_sessions', allowed: 2, retry_after_ms: expect.any(Number) },
    });
    expect((await new OlderClient(gateway.url).call('percy.work')).status).toBe(200);
    const stranger = new OlderClient(gateway.url, { key: STRANGER_KEY });
    expect((await stranger.initialize()).status).toBe(200);
    for (const reader of readers) reader.leave();
  });

  it('in all', async () => {
    await using gateway = await openTestGateway(agents, { sessions: { all: 2 } });
    const first = await OlderClient.open(gateway.url);
    const second = await OlderClient.open(gateway.url, { key: STRANGER_KEY });
    await OlderClient.open(gateway.url);
    expect(await first.request('ping')).toMatchObject(unknownSession);
    expect((await second.request('ping')).status).toBe(200);
  });

  it('and closed when they are not used, but not while the client listens', async () => {
    await using gateway = await openTestGateway(agents, { sessions: { idleMs: 200 } });
    const idle = await OlderClient.open(gateway.url);
    const listening = await OlderClient.open(gateway.url);
    const reader = await listening.listen();
    const probe = new OlderClient(gateway.url, { key: KEY });
    probe.sessionId = idle.sessionId;
    await expect
      .poll(async () => (await probe.send('GET', { accept: 'none' })).status, { interval: 300 })
      .toBe(404);
    expect((await listening.request('ping')).status).toBe(200);
    reader.leave();
  });

  it('so that a thousand of one principal leave no more than allowed', async () => {
    await using gateway = await openTestGateway(agents, { sessions: { perPrincipal: 50 } });
    const initialize = INITIALIZE('2025-11-25', 'older', {});
    const begin = async () => {
      const client = new OlderClient(gateway.url);
      const { sessionId } = await client.post(initialize);
      client.sessionId = sessionId ?? undefined;
      return client;
    };
    const clients: OlderClient[] = [];
    while (clients.length < 1_000) {
      clients.push(...(await Promise.all(Array.from({ length: 50 }, begin))));
    }
    const statusOf = async (client: OlderClient) => (await client.request('ping')).status;
    const left = await Promise.all(clients.slice(-50).map(statusOf));
    expect(new Set(left)).toEqual(new Set([200]));
    const closed = await Promise.all(clients.slice(0, -50).map(statusOf));
    expect(new Set(closed)).toEqual(new Set([404]));
  });
});

describe('bad input to a session', () => {
  const details = (reason: string) => ({ error: { data: { error: { details: { reason } } } } });

  it.each(['nonsense', '1-99', '99-1', '0', '-1-1', `${'9'.repeat(40)}-1`])(
    'refuses to resume after the event %s',
    async (eventId) => {
      await using gateway = await openTestGateway(agents);
      const client = await OlderClient.open(gateway.url);
      const response = await client.send('GET', { 'last-event-id': eventId });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject(details('unknown_event'));
    },
  );

  it('refuses to resume with the event of another session', async () => {
    await using gateway = await openTestGateway(agents);
    const one = await OlderClient.open(gateway.url);
    const other = await OlderClient.open(gateway.url);
    const reader = await one.listen();
    const event = await reader.next();
    expect((await other.send('GET', { 'last-event-id': event?.id })).status).toBe(400);
    reader.leave();
  });

  it.each(['2026-01-01', '2025-11-26', 'x'])(
    'refuses the revision %s in the header, which is none of the older ones',
    async (version) => {
      await using gateway = await openTestGateway(agents);
      const client = await OlderClient.open(gateway.url);
      const reply = await client.post(
        { jsonrpc: '2.0', id: 1, method: 'ping' },
        { 'mcp-protocol-version': version },
      );
      expect(reply).toMatchObject({ status: 400, messages: [details('header_mismatch')] });
    },
  );

  it('lets another older revision in the header pass', async () => {
    await using gateway = await openTestGateway(agents);
    const client = await OlderClient.open(gateway.url);
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    expect((await client.post(ping, { 'mcp-protocol-version': '2025-03-26' })).status).toBe(200);
    expect((await client.post(ping, { 'mcp-protocol-version': undefined })).status).toBe(200);
  });

  it('refuses a body of the current revision under the header of an older one', async () => {
    await using gateway = await openTestGateway(agents);
    const client = await OlderClient.open(gateway.url);
    const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    const reply = await client.call('percy.work', {}, meta);
    expect(reply).toMatchObject({ status: 400, messages: [details('header_mismatch')] });
    expect(reply.messages[0].error.code).toBe(-32_020);
  });

  it('takes a batch in 2025-03-26, and in no later revision', async () => {
    await using gateway = await openTestGateway(agents);
    const batch = [
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'percy.work' } },
    ];
    const older = await OlderClient.open(gateway.url, { version: '2025-03-26' });
    const { messages } = await older.post(batch);
    expect(messages[0].map(({ id }: { id: number }) => id).sort()).toEqual([1, 2]);
    expect((await older.post(batch.slice(1, 2))).status).toBe(202);
    const twice = await older.post([batch[0], batch[0]]);
    expect(twice).toMatchObject({ status: 400, messages: [details('duplicate_id')] });
    const newer = await OlderClient.open(gateway.url, { version: '2025-06-18' });
    expect(await newer.post(batch)).toMatchObject({ status: 400, messages: [details('batch')] });
  });

  it.each(['percy.work', 'fabric.call'])(
    'refuses a second request with the id of an open one (%s)',
    async (name) => {
      const agent = patientAgent();
      await using gateway = await openTestGateway({ percy: { run: agent.run } });
      const client = await OlderClient.open(gateway.url);
      const calling = client.call('percy.work', {}, undefined, 3);
      await agent.started;
      const second = await client.call(name, { capability: 'work' }, undefined, 3);
      expect(second).toMatchObject({ status: 400, messages: [details('duplicate_id')] });
      expect((await client.request('ping', {}, 3)).status).toBe(400);
      agent.release();
      expect((await calling).messages[0].result.content[0].text).toBe('done');
    },
  );

  it('refuses a second initialize', async () => {
    await using gateway = await openTestGateway(agents);
    const client = await OlderClient.open(gateway.url);
    const { sessionId } = client;
    const again = await client.initialize();
    expect(again).toMatchObject({ status: 400, messages: [details('initialized')] });
    client.sessionId = sessionId;
    expect((await client.request('ping')).status).toBe(200);
  });

  it('refuses what the client would not accept, and other methods', async () => {
    await using gateway = await openTestGateway(agents);
    const client = await OlderClient.open(gateway.url);
    expect((await client.send('GET', { accept: 'application/json' })).status).toBe(406);
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    expect((await client.post(ping, { accept: 'application/json' })).status).toBe(406);
    const put = await client.send('PUT');
    expect(put.status).toBe(405);
    expect(put.headers.get('allow')).toContain('DELETE');
  });

  it('begins no session for an initialize that is not one', async () => {
    await using gateway = await openTestGateway(agents);
    const client = new OlderClient(gateway.url);
    const { sessionId, messages } = await client.request('initialize', { protocolVersion: 7 });
    expect(sessionId).toBeNull();
    expect(messages[0].error).toBeDefined();
  });

  it('cuts off a reader that takes nothing, with OVERLOADED, and stays usable', async () => {
    const stopped = Promise.withResolvers<unknown>();
    const run: MemoryAgent = async function* (_, signal) {
      signal.addEventListener('abort', () => stopped.resolve(signal.reason), { once: true });
      while (!signal.aborted) {
        yield { type: 'token', data: { text: 'x'.repeat(64 * 1024) } };
        await new Promise(setImmediate);
      }
      throw new FabricError('CANCELLED', 'stopped');
    };
    await using gateway = await openTestGateway({ percy: { run } }, { stallMs: 300 });
    const client = await OlderClient.open(gateway.url);
    const params = { name: 'percy.work', arguments: {}, _meta: { progressToken: 1 } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'tools/call', params });
    const unread = await client.send('POST', {}, body);
    expect(await stopped.promise).toMatchObject({ code: 'OVERLOADED' });
    expect((await client.request('ping', {}, 6)).status).toBe(200);
    await unread.body?.cancel();
  });
});
