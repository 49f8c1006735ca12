import { createCoordination, toRealmStore } from '@starloom/coordination';
import { MemoryCoordinationStore } from '@starloom/coordination/testing';
import { type InputRequest, manifestSchema, silentLog } from '@starloom/core';
import type { MemoryAgent } from '@starloom/core/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answers, openTestGateway, STRANGER_KEY, type TestAgent } from '../test-gateway.ts';
import { EventReader, OlderClient, type OlderOptions } from './older-client.ts';

const secret = Buffer.alloc(32, 9);
const WORK = { name: 'percy.work', arguments: {}, _meta: { progressToken: 1 } };
const capabilities = { elicitation: {} };
const accepted = { action: 'accept', content: { name: 'Ada' } };
const question: InputRequest = {
  id: 'who',
  kind: 'form',
  message: 'Who?',
  schema: { type: 'object', properties: { name: { type: 'string' } } },
};

/** The first message of a stream that is meant. */
async function find(stream: EventReader, isMeant: (message: object) => boolean) {
  let message = await stream.nextMessage();
  while (message && !isMeant(message)) message = await stream.nextMessage();
  return message;
}

type TestGateway = Awaited<ReturnType<typeof openTestGateway>>;

describe('a session of an older client at gateways of one realm', () => {
  let store: MemoryCoordinationStore;
  let opened: TestGateway[];

  beforeEach(() => {
    store = new MemoryCoordinationStore();
    opened = [];
  });

  afterEach(async () => {
    for (const gateway of opened) await gateway[Symbol.asyncDispose]();
    await store.close();
  });

  const open = async (run: MemoryAgent, more: object = {}) => {
    const agents: Record<string, TestAgent> = { percy: { run } };
    const realm = { secret, store: toRealmStore(store) };
    const gateway = await openTestGateway(agents, { realm, drainMs: 100, ...more });
    opened.push(gateway);
    return gateway;
  };
  const two = async (run: MemoryAgent) => [await open(run), await open(run)] as const;
  /** The same client, sent elsewhere by a balancer. */
  const movedTo = ({ url }: TestGateway, client: OlderClient, options: OlderOptions = {}) =>
    Object.assign(new OlderClient(url, { capabilities, ...options }), {
      sessionId: client.sessionId,
    });
  const beginWork = async (client: OlderClient) => {
    const control = new AbortController();
    const body = { jsonrpc: '2.0', id: 5, method: 'tools/call', params: WORK };
    const response = await client.send('POST', {}, JSON.stringify(body), control.signal);
    return new EventReader(response, control);
  };

  it.each(['2025-11-25', '2025-06-18', '2025-03-26'])(
    '[G35] of revision %s is served by every one of them, also after the first one is gone',
    async (version) => {
      const [here, there] = await two(answers('well'));
      const client = await OlderClient.open(here.url, { version, name: 'claude-code' });
      const moved = movedTo(there, client, { version });
      const { status, messages } = await moved.request('tools/list');
      expect(status).toBe(200);
      // What the client said of itself is in the id.
      const names = messages[0].result.tools.map((tool: { name: string }) => tool.name);
      expect(names).toContain('percy_work');
      await here.gateway.close();
      const called = await moved.call('percy.work');
      expect(called.messages[0].result.content[0].text).toBe('well');
      expect(called.sessionId).toBe(client.sessionId);
    },
  );

  it('is unknown to other principals, and when its id was changed or is of another realm', async () => {
    const [here, there] = await two(answers('well'));
    const client = await OlderClient.open(here.url);
    const { status } = await movedTo(there, client, { key: STRANGER_KEY }).request('tools/list');
    expect(status).toBe(404);
    const id = client.sessionId ?? '';
    const changed = movedTo(there, client);
    changed.sessionId = `${id.slice(0, 20)}${id[20] === 'A' ? 'B' : 'A'}${id.slice(21)}`;
    expect((await changed.request('tools/list')).status).toBe(404);
    const other = await open(answers('well'), { realm: { secret: Buffer.alloc(32, 8) } });
    expect((await movedTo(other, client).request('tools/list')).status).toBe(404);
    const alone = await open(answers('well'), { realm: undefined });
    expect((await movedTo(alone, client).request('tools/list')).status).toBe(404);
  });

  it('answers a question of one gateway at another one', async () => {
    const [here, there] = await two(async function* (_envelope, _signal, { ask }) {
      yield { type: 'final', data: { answer: JSON.stringify(await ask?.([question])) } };
    });
    const client = await OlderClient.open(here.url, { capabilities });
    const moved = movedTo(there, client);
    // Both gateways have asked something: the ids of their questions differ.
    const streams = [await beginWork(client), await beginWork(moved)];
    const isQuestion = ({ method }: { method?: string }) => method === 'elicitation/create';
    const asked = await Promise.all(streams.map((stream) => find(stream, isQuestion)));
    expect(new Set(asked.map(({ id }) => id)).size).toBe(2);
    for (const [at, answering] of [moved, client].entries()) {
      const reply = await answering.post({ jsonrpc: '2.0', id: asked[at].id, result: accepted });
      expect(reply.status).toBe(202);
      const stream = streams[at] as EventReader;
      const { result } = await find(stream, (message) => 'result' in message);
      expect(result.content[0].text).toContain('Ada');
    }
  });

  it('cancels a call of one gateway at another one', async () => {
    const stopped = Promise.withResolvers<string>();
    const started = Promise.withResolvers<void>();
    const [here, there] = await two(async function* (_envelope, signal) {
      yield { type: 'token', data: { text: 'begun' } };
      started.resolve();
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      stopped.resolve('stopped');
      throw signal.reason;
    });
    const client = await OlderClient.open(here.url);
    const stream = await beginWork(client);
    await started.promise;
    const method = 'notifications/cancelled';
    const cancel = { jsonrpc: '2.0', method, params: { requestId: 5 } };
    expect((await movedTo(there, client).post(cancel)).status).toBe(202);
    expect(await stopped.promise).toBe('stopped');
    stream.leave();
  });

  it('gives the rest of a stream of one gateway to a client that resumes at another one', async () => {
    const started = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const [here, there] = await two(async function* () {
      yield { type: 'token', data: { text: 'before' } };
      started.resolve();
      await release.promise;
      yield { type: 'token', data: { text: 'after' } };
      yield { type: 'final', data: { answer: 'done' } };
    });
    const client = await OlderClient.open(here.url);
    const stream = await beginWork(client);
    let last = await stream.next();
    while (last?.message?.params?.message !== 'before') last = await stream.next();
    await started.promise;
    stream.leave();
    const rest = await movedTo(there, client).listen({ 'last-event-id': last.id ?? '' });
    release.resolve();
    const missed = [];
    for (let event = await rest.next(); event; event = await rest.next()) {
      if (event.message !== undefined) missed.push(event.message);
    }
    expect(missed[0].params.message).toBe('after');
    expect(missed.at(-1)).toMatchObject({ id: 5, result: { content: [{ text: 'done' }] } });
  });

  it('listens at another gateway when the one where it listened is gone', async () => {
    const [here, there] = await two(answers('well'));
    const client = await OlderClient.open(here.url);
    const first = await client.listen();
    const begun = await first.next();
    await here.gateway.close();
    const again = await movedTo(there, client).listen({ 'last-event-id': begun?.id ?? '' });
    expect(again.response.status).toBe(200);
    const endpoint = { transport: 'http', uri: 'http://127.0.0.1:1/' } as const;
    const late = { agent_id: 'late', endpoint, capabilities: [{ name: 'come' }] };
    await there.registry.register(manifestSchema.parse(late));
    expect((await again.nextMessage()).method).toMatch(/list_changed$/);
    again.leave();
    // The rest of a call is gone with its gateway.
    const lost = (begun?.id ?? '').replace('.l', '.');
    const { response } = await movedTo(there, client).listen({ 'last-event-id': lost });
    expect(response.status).toBe(400);
  });

  it('ends at all of them when the client ends it at one', async () => {
    const [here, there] = await two(answers('well'));
    const client = await OlderClient.open(here.url);
    const moved = movedTo(there, client);
    const listener = await client.listen();
    await listener.next();
    expect((await moved.send('DELETE')).status).toBe(200);
    while (await listener.next());
    for (const each of [client, moved]) {
      expect((await each.request('tools/list')).status).toBe(404);
    }
    const late = await open(answers('well'));
    expect((await movedTo(late, client).request('tools/list')).status).toBe(404);
  });

  it('keeps the level of log messages that the client chose at another gateway', async () => {
    const run: MemoryAgent = async function* (_envelope, _signal, { notify }) {
      for (const level of ['info', 'error']) {
        await notify?.({ method: 'notifications/message', params: { level, data: level } });
      }
      yield { type: 'final', data: { answer: 'done' } };
    };
    const [here, there] = await two(run);
    const client = await OlderClient.open(here.url);
    const levels = async (at: OlderClient) => {
      const { messages } = await at.call('percy.work');
      return messages.flatMap(({ params }) => params?.level ?? []);
    };
    await client.request('logging/setLevel', { level: 'warning' });
    expect(await levels(movedTo(there, client))).toEqual(['error']);
    await movedTo(there, client).request('logging/setLevel', { level: 'debug' });
    await expect.poll(() => levels(client)).toEqual(['info', 'error']);
  });

  it('hears at one gateway of a resource that it follows since it was at another one', async () => {
    const coordination = createCoordination({ store, log: silentLog });
    const more = { coordination };
    const [here, there] = [await open(answers('x'), more), await open(answers('x'), more)];
    const peer = coordination.connect({ principal: { id: 'tester' } });
    const act = (method: string, params: object) =>
      peer.handle({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: { session_id: 's', agent_id: 'a', ...params },
      });
    await act('session_manager.create', { mode: 'cas' });
    const client = await OlderClient.open(here.url);
    const uri = 'starloom://sessions/s/context';
    await client.request('resources/subscribe', { uri });
    const stream = await movedTo(there, client).listen();
    let n = 0;
    const writing = setInterval(() => {
      n += 1;
      void act('context_coordinator.update', { update: { n } });
    }, 50);
    const isUpdate = ({ method }: { method?: string }) =>
      method === 'notifications/resources/updated';
    expect(await find(stream, isUpdate)).toMatchObject({ params: { uri } });
    clearInterval(writing);
    stream.leave();
    await peer.close();
    await coordination.close();
  });

  it('is taken up once by requests that come together', async () => {
    const [here, there] = await two(answers('well'));
    const client = await OlderClient.open(here.url);
    const moved = movedTo(there, client);
    const ids = Array.from({ length: 8 }, (_, n) => n);
    const replies = await Promise.all(ids.map((id) => moved.call('percy.work', {}, {}, id)));
    for (const { messages } of replies) expect(messages[0].result.content[0].text).toBe('well');
  });

  it('is served while the store is away, as far as one gateway can', async () => {
    const [here, there] = await two(answers('well'));
    const client = await OlderClient.open(here.url);
    await store.close();
    const called = await movedTo(there, client).call('percy.work');
    expect(called.messages[0].result.content[0].text).toBe('well');
  });
});
