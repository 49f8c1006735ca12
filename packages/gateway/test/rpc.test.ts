import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describeMethods } from '@starloom/coordination';
import { readSse } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { coordinationOpenApi } from '../../../scripts/coordination-open-api.ts';
import { openCoordinationWorld } from './coordination-world.ts';
import { KEY, STRANGER_KEY } from './test-gateway.ts';

const bearer = { authorization: `Bearer ${KEY}` };

const helper = {
  manifest: { capabilities: [{ name: 'say' }] },
  run: async function* () {},
};

async function openWorld(agents: Parameters<typeof openCoordinationWorld>[0] = {}) {
  const world = await openCoordinationWorld(agents);
  const rpc = async (method: string, params: object = {}, path = '/rpc') => {
    const { body } = await post(world.url, path, { jsonrpc: '2.0', id: 'r', method, params });
    return body;
  };
  return {
    url: world.url,
    registry: world.registry,
    rpc,
    /** What a request came to; fails the test when it was refused. */
    result: async (method: string, params: object = {}) => {
      const { result, error } = await rpc(method, params);
      expect(error).toBeUndefined();
      return result;
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

async function post(url: string, path: string, message: unknown, headers: object = bearer) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

/** A WebSocket client of the plane: answers by id, and everything that is pushed. */
async function openSocket(url: string) {
  const protocol = `bearer.${Buffer.from(KEY).toString('base64url')}`;
  const socket = new WebSocket(`${url.replace('http', 'ws')}/rpc/ws`, ['mcp', protocol]);
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests read into messages freely
  const pushed: any[] = [];
  // biome-ignore lint/suspicious/noExplicitAny: tests read into messages freely
  const waiting = new Map<number, (message: any) => void>();
  socket.on('message', (data) => {
    const message = JSON.parse(data.toString());
    if ('id' in message) waiting.get(message.id)?.(message);
    else pushed.push(message);
  });
  let id = 0;
  return {
    pushed,
    ask: (method: string, params: object = {}) =>
      // biome-ignore lint/suspicious/noExplicitAny: tests read into messages freely
      new Promise<any>((resolve) => {
        id += 1;
        waiting.set(id, resolve);
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      }),
    [Symbol.dispose]: () => socket.terminate(),
  };
}

describe('the coordination plane over HTTP', () => {
  it('[C2] is discovered as the seed writes it, at /rpc and at the path of each service', async () => {
    await using world = await openWorld();
    const { protocol_version, services } = await world.result('mcp.discover');
    expect(protocol_version).toBe('1.0.0');
    expect(services).toEqual({
      agent_registry: '/agent-registry',
      context_coordinator: '/context-coordinator',
      memory_locker: '/memory-locker',
      tool_cache: '/tool-cache',
      shared_buffer: '/shared-buffer',
      session_manager: '/session-manager',
    });
    const agent = { agent_id: 'a', capabilities: ['tool1', 'tool2'] };
    expect((await world.rpc('agent_registry.register', agent)).result.agent_id).toBe('a');
    const found = await world.rpc(
      'agent_registry.find',
      { capability: 'tool1' },
      '/agent-registry',
    );
    expect(JSON.stringify(found.result)).toContain('"a"');
    for (const path of Object.values<string>(services)) {
      expect((await world.rpc('mcp.discover', {}, path)).result.protocol_version).toBe('1.0.0');
    }
  });

  it('takes batches and notifications, string and number ids', async () => {
    await using world = await openWorld();
    const discover = { jsonrpc: '2.0', method: 'mcp.discover' };
    const { body } = await post(world.url, '/rpc', [
      { ...discover, id: 1 },
      discover,
      { ...discover, id: 'two' },
      { jsonrpc: '2.0', id: 3, method: 'no.such' },
      7,
    ]);
    expect(body.map(({ id }: { id: unknown }) => id)).toEqual([1, 'two', 3, null]);
    expect(body[2].error.code).toBe(-32601);
    expect(body[3].error.code).toBe(-32600);
    expect(await post(world.url, '/rpc', discover)).toEqual({ status: 204, body: undefined });
  });

  it.each([
    ['no JSON', 'hello', 400, -32700],
    ['too much nesting', `${'['.repeat(200)}${']'.repeat(200)}`, 400, -32600],
    ['an empty batch', '[]', 200, -32600],
    ['a number', '7', 200, -32600],
    [
      'wrong params',
      { jsonrpc: '2.0', id: 1, method: 'mcp.discover', params: { x: 1 } },
      200,
      -32602,
    ],
  ])('refuses %s with a code and data.details', async (_, message, status, code) => {
    await using world = await openWorld();
    const refused = await post(world.url, '/rpc', message);
    expect(refused.status).toBe(status);
    expect(refused.body.error).toMatchObject({ code, data: { details: expect.any(String) } });
  });

  it('lets nobody in without a key', async () => {
    await using world = await openWorld();
    const refused = await post(
      world.url,
      '/rpc',
      { jsonrpc: '2.0', id: 1, method: 'mcp.discover' },
      {},
    );
    expect(refused).toMatchObject({
      status: 401,
      body: { error: { code: -32001, data: { details: expect.any(String) } } },
    });
  });

  it('[C12] onboards by POST as the seed writes it: nothing but register names the agent', async () => {
    await using world = await openWorld();
    await world.result('agent_registry.register', { agent_id: 'a', capabilities: [] });
    const { session_id } = await world.result('session_manager.create', { agent_id: 'a' });
    const { cursor } = await world.result('context_coordinator.subscribe', { session_id });
    const update = { session_id, update: { key: 'new_value' }, with_lock: true };
    await world.result('context_coordinator.update', update);
    await world.result('agent_registry.heartbeat');
    const page = await world.result('context_coordinator.events', { session_id, after: cursor });
    expect(page.events).toMatchObject([{ agent_id: 'a', update: { key: 'new_value' } }]);
  });

  it('[C15] lists the agents of the gateway beside those that are registered', async () => {
    await using world = await openWorld({ helper });
    await world.result('session_manager.create', { agent_id: 'never-registered' });
    const { agents } = await world.result('agent_registry.list');
    expect(agents).toMatchObject([
      { agent_id: 'never-registered', source: 'joined', status: 'active' },
      { agent_id: 'helper', source: 'gateway', capabilities: [{ name: 'say' }] },
    ]);
    const found = await world.result('agent_registry.find', { capability: 'say' });
    expect(found.agents).toMatchObject([{ agent_id: 'helper', source: 'gateway' }]);
    const { source } = await world.result('agent_registry.get', { agent_id: 'helper' });
    expect(source).toBe('gateway');
  });

  it('[C2] serves the calls of an agent that registers with an endpoint, from the one directory', async () => {
    await using world = await openWorld({ helper });
    const endpoint = { transport: 'http', uri: 'http://127.0.0.1:9/', protocol: 'memory' };
    const own = { agent_id: 'coder', capabilities: [{ name: 'code', description: 'Writes code' }] };
    const { epoch } = await world.result('agent_registry.register', { ...own, endpoint });
    const entry = () => world.registry.get('coder')?.instances[0];
    expect(entry()?.manifest).toMatchObject({ endpoint, capabilities: own.capabilities });
    const { agents } = await world.result('agent_registry.list');
    expect(agents.map((agent: { agent_id: string }) => agent.agent_id)).toEqual([
      'coder',
      'helper',
    ]);
    const before = entry()?.expiresAt ?? 0;
    await expect
      .poll(async () => {
        await world.result('agent_registry.heartbeat', { agent_id: 'coder', epoch });
        return entry()?.expiresAt;
      })
      .toBeGreaterThan(before);
    await world.result('agent_registry.heartbeat', { agent_id: 'coder', status: 'draining' });
    expect(entry()?.state).toBe('draining');
    await world.result('agent_registry.unregister', { agent_id: 'coder' });
    expect(entry()).toBeUndefined();
    const { error } = await world.rpc('agent_registry.register', {
      ...own,
      endpoint: { transport: 'stdio', command: 'sh' },
    });
    expect(error).toMatchObject({ code: -32602, data: { reason: 'command' } });
    const known = await world.result('agent_registry.list');
    expect(known.agents).toMatchObject([{ agent_id: 'helper' }]);
  });

  it('shows a stranger nothing: an unknown and a forbidden session look the same', async () => {
    await using world = await openWorld();
    await world.result('session_manager.create', { session_id: 'mine', agent_id: 'a' });
    const before = await world.result('session_manager.get', { session_id: 'mine', agent_id: 'a' });
    const stranger = { authorization: `Bearer ${STRANGER_KEY}` };
    const refusal = async (method: string, session_id: string, params: object) => {
      const message = {
        jsonrpc: '2.0',
        id: 1,
        method,
        params: { session_id, agent_id: 'z', ...params },
      };
      const { body } = await post(world.url, '/rpc', message, stranger);
      const { trace } = body.error.data;
      const text = JSON.stringify(body).replace(JSON.stringify(trace), '{}');
      return text.replaceAll(session_id, 'it');
    };
    for (const [method, params] of [
      ['session_manager.get', {}],
      ['session_manager.join', {}],
      ['session_manager.end', {}],
      ['session_manager.fork', {}],
      ['context_coordinator.get', {}],
      ['context_coordinator.update', { update: { n: 1 }, with_lock: true }],
      ['context_coordinator.subscribe', {}],
      ['context_coordinator.events', {}],
      ['memory_locker.acquire', {}],
      ['memory_locker.status', {}],
      ['shared_buffer.put', { content: 'x' }],
      ['shared_buffer.list', {}],
    ] as const) {
      const forbidden = await refusal(method, 'mine', params);
      expect(forbidden, method).toContain('-32004');
      expect(forbidden, method).toBe(await refusal(method, 'nobodys', params));
    }
    const taken = await post(
      world.url,
      '/rpc',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'context_coordinator.get',
        params: { session_id: 'mine', agent_id: 'a' },
      },
      stranger,
    );
    expect(taken.body.error.code).toBe(-32001);
    const after = await world.result('session_manager.get', { session_id: 'mine', agent_id: 'a' });
    expect(after).toEqual(before);
  });

  it('refuses a body that is too large', async () => {
    await using world = await openWorld();
    const large = 'x'.repeat(5 * 1024 * 1024);
    const refused = await post(world.url, '/rpc', { jsonrpc: '2.0', id: 1, method: large });
    expect(refused).toMatchObject({
      status: 413,
      body: { error: { data: { details: expect.any(String) } } },
    });
  });

  it('describes itself as OpenAPI, to whoever has a key', async () => {
    await using world = await openWorld();
    const path = `${world.url}/rpc/openapi.json`;
    const response = await fetch(path, { headers: bearer });
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual(coordinationOpenApi());
    expect((await fetch(path)).status).toBe(401);
    expect((await post(world.url, '/rpc/openapi.json', {})).status).toBe(405);
  });

  it('keeps a subscription open as a stream of events, and a plain client reads from a cursor', async () => {
    await using world = await openWorld();
    await world.result('agent_registry.register', { agent_id: 'a', capabilities: [] });
    await world.result('session_manager.create', { session_id: 's', agent_id: 'a', mode: 'cas' });
    const leave = new AbortController();
    const response = await fetch(`${world.url}/rpc`, {
      method: 'POST',
      signal: leave.signal,
      headers: { ...bearer, 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'context_coordinator.subscribe',
        params: { session_id: 's', agent_id: 'a' },
      }),
    });
    const events = readSse(response.body as AsyncIterable<Uint8Array>, { maxEventBytes: 65_536 })[
      Symbol.asyncIterator
    ]();
    const next = async () => {
      const { value } = await events.next();
      return JSON.parse(value?.data ?? 'null');
    };
    const { result } = await next();
    await world.result('context_coordinator.update', {
      session_id: 's',
      agent_id: 'a',
      update: { key: 'new_value' },
    });
    expect(await next()).toMatchObject({
      method: 'context_coordinator.update',
      params: { session_id: 's', update: { key: 'new_value' }, agent_id: 'a' },
    });
    leave.abort();
    const read = { session_id: 's', agent_id: 'a', after: result.cursor };
    const page = await world.result('context_coordinator.events', read);
    expect(JSON.stringify(page.events)).toContain('new_value');
  });
});

describe('the coordination plane over WebSocket', () => {
  it('pushes updates, grants and joins to the agents of a session', async () => {
    await using world = await openWorld();
    using a = await openSocket(world.url);
    using b = await openSocket(world.url);
    await a.ask('agent_registry.register', { agent_id: 'a', capabilities: [] });
    await b.ask('agent_registry.register', { agent_id: 'b', capabilities: [] });
    await a.ask('session_manager.create', { session_id: 's' });
    await b.ask('session_manager.join', { session_id: 's' });
    await b.ask('context_coordinator.subscribe', { session_id: 's' });
    const { result: lock } = await a.ask('memory_locker.acquire', { session_id: 's' });
    const waiting = b.ask('memory_locker.acquire', { session_id: 's', wait_ms: 10_000 });
    const write = { session_id: 's', update: { n: 1 }, lock_token: lock.lock_token };
    expect((await a.ask('context_coordinator.update', write)).error).toBeUndefined();
    await a.ask('memory_locker.release', { session_id: 's', lock_token: lock.lock_token });
    await waiting;
    const methods = () => b.pushed.map(({ method }) => method);
    await expect.poll(methods).toContain('context_coordinator.update');
    expect(a.pushed.map(({ method }) => method)).toContain('session_manager.agent_joined');
    const late = await a.ask('context_coordinator.update', write);
    expect(late.error.code).toBe(-32015);
  });
});

describe('the coordination plane as MCP tools', () => {
  it('lets a plain MCP client take part in a session', async () => {
    await using world = await openWorld();
    const client = new Client({ name: 'test', version: '0' });
    const requestInit = { headers: bearer };
    await client.connect(
      new StreamableHTTPClientTransport(
        new URL(`${world.url}/mcp?toolsets=coordination&tool_names=dots`),
        { requestInit },
      ),
    );
    // biome-ignore lint/suspicious/noExplicitAny: tests read into payloads freely
    const use = async (name: string, args: Record<string, unknown>): Promise<any> =>
      (await client.callTool({ name, arguments: args })).structuredContent;
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    const prefixes = Object.entries({
      session_manager: 'session',
      context_coordinator: 'context',
      memory_locker: 'lock',
      shared_buffer: 'buffer',
    });
    for (const [service, prefix] of prefixes) {
      const methods = describeMethods().filter((method) => method.service === service);
      const wanted = methods.map(({ name }) => name.replace(service, prefix));
      const pushed = ['context.subscribe', 'context.unsubscribe'];
      expect(names.filter((name) => name.startsWith(`${prefix}.`))).toEqual(
        wanted.filter((name) => !pushed.includes(name)),
      );
    }
    const unnamed = await use('session.create', { session_id: 's' });
    expect(unnamed).toMatchObject({ ok: false, error: { details: { agents: [] } } });
    const named = { session_id: 's', agent_id: 'model' };
    expect(await use('session.create', named)).toMatchObject({ ok: true });
    const [member] = (await use('session.get', { session_id: 's' })).members;
    expect(member).toMatchObject({ agent_id: 'model', connected: true });
    expect(member.epoch).toBeGreaterThan(0);
    const refused = await use('context.update', { session_id: 's', update: { n: 1 } });
    expect(refused).toMatchObject({
      ok: false,
      error: {
        code: 'POLICY_DENIED',
        details: {
          reason: 'lock_required',
          rpc_code: -32014,
          fix: expect.stringContaining('lock.acquire'),
        },
      },
    });
    const { lock_token } = await use('lock.acquire', { session_id: 's' });
    const update = { session_id: 's', update: { n: 1 }, lock_token };
    expect(await use('context.update', update)).toMatchObject({ ok: true });
    expect(await use('context.get', { session_id: 's' })).toMatchObject({ context: { n: 1 } });
    await client.close();
  });
});
