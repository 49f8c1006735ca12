// Every way into the gateway, from its own tables, with a key that may use nothing and without one. The
// key with `scopes: []` belongs to a principal that owns a job, a task and a session: all of that exists,
// and none of it may be served. A new route, upgrade, method, tool or operation that is served without
// the authorise step makes a test fail here.

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { credentials, Client as GrpcClient, Metadata, type ServiceError } from '@grpc/grpc-js';
import { A2aFace, REST_ROUTES } from '@starloom/a2a/tasks';
import { createCoordination, METHODS, openStore } from '@starloom/coordination';
import { silentLog } from '@starloom/core';
import { createPskVerifier } from '@starloom/identity';
import { openSqliteJobs } from '@starloom/jobs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { mayUseCoordination } from '../src/index.ts';
import type { Connection } from '../src/mcp/connection.ts';
import { RelayFace } from '../src/mcp/relay-face.ts';
import { createServer, type McpFace } from '../src/mcp/server-factory.ts';
import { TOOLSETS } from '../src/tools/tool-lists.ts';
import { PROBES } from '../src/transports/routes.ts';
import { request, toMessage } from './a2a/raw.ts';
import { send } from './mcp/raw-call.ts';
import { answers, call, connect, openTestGateway } from './test-gateway.ts';

const ALL = 'key-with-all-0123456789abcdef';
const NONE = 'key-with-none-0123456789abcdef';
const PUBLIC = ['/livez', '/healthz', '/readyz', '/metrics', '/.well-known/jwks.json'];
/** What begins and ends a connection and a subscription; it says nothing of agents. */
const HANDSHAKE = [
  'initialize',
  'notifications/initialized',
  'ping',
  'server/discover',
  'logging/setLevel',
  'subscriptions/listen',
  'resources/unsubscribe',
];
/** The agents of this test have no prompts, and the current revision does not subscribe so. */
const WITHOUT_ANSWER = [
  'prompts/list',
  'prompts/get',
  'resources/subscribe',
  'resources/directory/read',
  'skills/list',
  'skills/get',
];
const SESSION = 'starloom://sessions/s/context';

// biome-ignore lint/suspicious/noExplicitAny: answers of any form
type Json = any;

let world: Awaited<ReturnType<typeof openWorld>>;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

async function openWorld() {
  const folder = await mkdtemp(join(tmpdir(), 'starloom-walk-'));
  const store = await openStore({ kind: 'embedded' }, { log: silentLog });
  const coordination = createCoordination({ store, log: silentLog, mayUse: mayUseCoordination });
  const jobs = await openSqliteJobs({ path: join(folder, 'jobs.db') });
  const owner = { principal: 'owner', tier: 'org' } as const;
  const psk = createPskVerifier([
    { ...owner, key_id: 'all', key: ALL, scopes: ['*'] },
    { ...owner, key_id: 'none', key: NONE, scopes: [] },
  ]);
  const agents = { percy: { run: answers('served') } };
  const config = {
    mcp: { toolsets: [...TOOLSETS].filter((toolset) => toolset !== 'jobs') },
    a2a: { grpc: { port: 0 } },
  };
  const gateway = await openTestGateway(agents, { psk, coordination, jobs, config });
  const { url } = gateway;
  const client = await connect(url, 'auto', { authorization: `Bearer ${ALL}` });
  const target = { agent_id: 'percy', capability: 'work', async: true };
  const { payload } = await call(client, 'fabric.call', target);
  await call(client, 'session.create', { session_id: 's', agent_id: 'owner' });
  const { tools } = await client.listTools();
  await client.close();
  const task = await request(`${url}/a2a/fabric/message:send`, 'POST', toPercy, { key: ALL });
  return {
    url,
    paths: gateway.gateway.paths,
    tools: tools.map(({ name }) => name),
    jobId: String(payload.job_id),
    taskId: String(task.body.task?.id),
    async close() {
      await gateway[Symbol.asyncDispose]();
      await jobs.close();
      await coordination.close();
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}

const toPercy = toMessage('x', { metadata: { skill: 'percy.work' } });

/** An error, or lists of nothing. */
function isRefused({ error, result }: Json): boolean {
  if (error !== undefined) return true;
  const { resultType: _, _meta: __, ttlMs: ___, cacheScope: ____, ...content } = result ?? {};
  const lists = Object.entries(content.completion ?? content).filter(
    ([name]) => name !== 'total' && name !== 'hasMore',
  );
  return lists.length > 0 && lists.every(([, list]) => Array.isArray(list) && list.length === 0);
}

/** Whatever a method wants to know. */
function paramsFor(): Record<string, Json> {
  return {
    name: 'percy.work',
    arguments: {},
    uri: SESSION,
    ref: { type: 'ref/resource', uri: 'starloom://sessions/{session_id}/context' },
    argument: { name: 'session_id', value: '' },
    taskId: world.jobId,
    level: 'info',
  };
}

/** What the SDK was given to serve. */
function methodsOf(era: 'modern' | 'legacy'): string[] {
  const relay = new RelayFace({ expose: 'all', unprefixed: [] } as never);
  const face = { relay, jobs: {}, version: '0' } as unknown as McpFace;
  const server = createServer(face, era, { push: true } as Connection);
  const { _requestHandlers: handlers } = server as unknown as {
    _requestHandlers: Map<string, unknown>;
  };
  return [...handlers.keys()];
}

describe('HTTP', () => {
  it('answers nothing without a key but what is public', async () => {
    expect([...PROBES].toSorted()).toEqual(PUBLIC.toSorted());
    for (const path of world.paths.routes) {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const { status } = await request(world.url + path, method, undefined, { key: '' });
        expect([path, method, status]).toEqual([path, method, 401]);
      }
    }
    for (const path of PUBLIC) {
      const { status } = await request(world.url + path, 'POST', {}, { key: '' });
      expect([path, status]).toEqual([path, 401]);
    }
  });

  it('serves no route to a key that may use nothing', async () => {
    const bodies = [undefined, {}, { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }];
    for (const path of world.paths.routes) {
      for (const [method, body] of [
        ['GET', undefined],
        ['DELETE', undefined],
        ...bodies.map((body) => ['POST', body] as const),
      ] as const) {
        const headers = { accept: 'application/json, text/event-stream' };
        const answer = await request(world.url + path, method, body, { key: NONE, headers });
        const text = typeof answer.body === 'string' ? toMessageOf(answer.body) : answer.body;
        const served = answer.status < 300 && !isRefused(text);
        expect([path, method, body, served]).toEqual([path, method, body, false]);
      }
    }
  });

  it('refuses foreign hosts and origins at every path and upgrade', async () => {
    const { port } = new URL(world.url);
    const statusOf = async (path: string, headers: Record<string, string>) => {
      const sent = httpRequest({ port, path, headers });
      sent.end();
      const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream & Json];
      response.resume();
      return response.statusCode;
    };
    const key = { authorization: `Bearer ${ALL}` };
    const upgrade = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    const { routes, upgrades } = world.paths;
    for (const [path, more] of [
      ...[...routes, ...PROBES].map((path) => [path, {}] as const),
      ...upgrades.map((path) => [path, upgrade] as const),
    ]) {
      expect(await statusOf(path, { ...key, ...more, host: 'evil.example' })).toBe(403);
      expect(await statusOf(path, { ...key, ...more, origin: 'http://evil.example' })).toBe(403);
    }
  });

  it('takes no caller at its word: headers of proxies and of ours change nothing', async () => {
    const headers = {
      'x-forwarded-user': 'owner',
      'x-starloom-principal': 'owner',
      'x-agent-principal': 'owner',
      'x-forwarded-host': 'localhost',
      'x-real-ip': '127.0.0.1',
    };
    for (const path of world.paths.routes) {
      const { status } = await request(world.url + path, 'POST', {}, { key: '', headers });
      expect([path, status]).toEqual([path, 401]);
    }
    const metrics = { ...headers, 'x-forwarded-for': '127.0.0.1' };
    const { status } = await request(`${world.url}/metrics`, 'GET', undefined, {
      key: '',
      headers: metrics,
    });
    expect(status).toBe(401);
  });

  it('refuses two credentials at every path', async () => {
    for (const path of world.paths.routes) {
      const { status } = await request(
        world.url + path,
        'POST',
        {},
        {
          key: ALL,
          headers: { 'x-agent-passport': 'a.b.c' },
        },
      );
      expect([path, status]).toEqual([path, 401]);
    }
  });
});

describe('WebSocket', () => {
  const address = (path: string) => world.url.replace('http', 'ws') + path;

  it('is not opened without a key', async () => {
    for (const path of world.paths.upgrades) {
      const socket = new WebSocket(address(path), ['mcp']);
      socket.on('error', () => {});
      const [, response] = await once(socket, 'unexpected-response');
      expect([path, (response as Json).statusCode]).toEqual([path, 401]);
    }
  });

  it('lets no node in with a key that may register nothing', async () => {
    const headers = { authorization: `Bearer ${NONE}` };
    const socket = new WebSocket(address('/node'), { headers });
    socket.on('error', () => {});
    const [, response] = await once(socket, 'unexpected-response');
    expect((response as Json).statusCode).toBe(403);
  });

  it('serves nothing to a key that may use nothing', async () => {
    const initialize = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'walk', version: '0' },
    };
    const methods = [...new Set([...methodsOf('legacy'), ...Object.keys(METHODS)])];
    for (const path of world.paths.upgrades) {
      if (path === '/node') continue;
      const [none, all] = [
        await openSocket(address(path), NONE),
        await openSocket(address(path), ALL),
      ];
      for (const ask of [none, all]) await ask('initialize', initialize);
      for (const method of methods.filter((one) => !HANDSHAKE.includes(one))) {
        const answer = await none(method, paramsFor());
        expect([path, method, isRefused(answer)]).toEqual([path, method, true]);
      }
      const known = path === '/mcp/ws' ? 'tools/list' : 'mcp.discover';
      expect([path, isRefused(await all(known, {}))]).toEqual([path, false]);
      for (const ask of [none, all]) ask.close();
    }
  });
});

async function openSocket(url: string, key: string) {
  const socket = new WebSocket(url, ['mcp'], { headers: { authorization: `Bearer ${key}` } });
  await once(socket, 'open');
  const waiting = new Map<number, (answer: Json) => void>();
  socket.on('message', (data) => {
    const message = JSON.parse(String(data));
    waiting.get(message.id)?.(message);
  });
  let id = 0;
  const ask = (method: string, params: object): Promise<Json> => {
    id += 1;
    const own = id;
    const answered = new Promise<Json>((resolve) => waiting.set(own, resolve));
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: own, method, params }));
    return answered;
  };
  return Object.assign(ask, { close: () => socket.terminate() });
}

describe('MCP', () => {
  const nameOf: Readonly<Record<string, string>> = {
    'resources/read': SESSION,
    'prompts/get': 'percy.work',
    'tools/call': 'percy.work',
  };
  const ask = async (method: string, key: string) => {
    const name = nameOf[method] ?? (method.startsWith('tasks/') ? world.jobId : '');
    const meta = {
      'io.modelcontextprotocol/clientCapabilities': {
        extensions: { 'io.modelcontextprotocol/tasks': {} },
      },
    };
    const { answer } = await send(world.url, method, name, { ...paramsFor(), _meta: meta }, key);
    return answer;
  };

  it('serves no method to a key that may use nothing', async () => {
    const methods = methodsOf('modern').filter((method) => !HANDSHAKE.includes(method));
    expect(methods).toEqual(expect.arrayContaining(['tools/list', 'tools/call', 'tasks/get']));
    for (const method of methods) {
      expect([method, isRefused(await ask(method, NONE))]).toEqual([method, true]);
      if (WITHOUT_ANSWER.includes(method)) continue;
      expect([method, isRefused(await ask(method, ALL))]).toEqual([method, false]);
    }
  });

  it('knows no tool for a key that may use nothing', async () => {
    expect(world.tools).toEqual(
      expect.arrayContaining(['percy.work', 'fabric.call', 'fabric.job.status', 'session.list']),
    );
    for (const name of world.tools) {
      const params = { name, arguments: {} };
      const { answer } = await send(world.url, 'tools/call', name, params, NONE);
      expect([name, answer.error?.code]).toEqual([name, -32602]);
    }
  });
});

describe('coordination', () => {
  it('serves no method to a key that may use nothing', async () => {
    for (const method of Object.keys(METHODS)) {
      const body = {
        jsonrpc: '2.0',
        id: 1,
        method,
        params: { session_id: 's', agent_id: 'owner' },
      };
      const { body: answer } = await request(`${world.url}/rpc`, 'POST', body, { key: NONE });
      expect([method, answer.error?.code]).toEqual([method, -32001]);
    }
  });
});

describe('A2A', () => {
  const targets = ['percy', 'fabric'];
  const toPath = (pattern: RegExp) =>
    pattern.source
      .replace(/^\^|\$$/g, '')
      .replaceAll('\\/', '/')
      .replace(/\(\?<\w+>\[\^\/:\]\+\)/, () => world.taskId)
      .replace(/\(\?<\w+>\[\^\/\]\+\)/, 'config');

  it('serves no path to a key that may use nothing', async () => {
    const paths = [
      ...REST_ROUTES.map(([, method, pattern]) => [method, toPath(pattern)] as const),
      ['GET', '/.well-known/agent-card.json'] as const,
    ];
    for (const target of targets) {
      for (const [method, path] of paths) {
        const url = `${world.url}/a2a/${target}${path}`;
        const body = method === 'POST' ? toPercy : undefined;
        const { status } = await request(url, method, body, { key: NONE });
        expect([url, method, status]).toEqual([url, method, 404]);
      }
    }
    const own = await request(`${world.url}/.well-known/agent-card.json`, 'GET', undefined, {
      key: NONE,
    });
    expect(own.status).toBe(404);
    const task = `${world.url}/a2a/fabric/tasks/${world.taskId}`;
    expect((await request(task, 'GET', undefined, { key: ALL })).status).toBe(200);
  });

  it('serves no operation by JSON-RPC to a key that may use nothing', async () => {
    const operations = Object.getOwnPropertyNames(A2aFace.prototype).map(
      (name) => name.charAt(0).toUpperCase() + name.slice(1),
    );
    expect(operations).toEqual(expect.arrayContaining(['SendMessage', 'GetTask']));
    for (const target of targets) {
      for (const method of [...operations, 'message/send', 'tasks/get']) {
        const params = { ...toPercy, id: world.taskId };
        const body = { jsonrpc: '2.0', id: 1, method, params };
        const answer = await request(`${world.url}/a2a/${target}`, 'POST', body, { key: NONE });
        expect([target, method, answer.status]).toEqual([target, method, 404]);
      }
    }
  });

  it('serves no operation by gRPC to a key that may use nothing', async () => {
    const { body } = await request(
      `${world.url}/a2a/percy/.well-known/agent-card.json`,
      'GET',
      undefined,
      {
        key: ALL,
      },
    );
    const { url } = body.supportedInterfaces.find((one: Json) => one.protocolBinding === 'GRPC');
    const client = new GrpcClient(url, credentials.createInsecure());
    for (const { path } of Object.values(A2AService)) {
      for (const [key, code] of [
        ['', 16],
        [NONE, 5],
      ] as const) {
        const metadata = new Metadata();
        metadata.set('a2a-version', '1.0');
        if (key !== '') metadata.set('authorization', `Bearer ${key}`);
        const error = await new Promise<ServiceError | null>((resolve) => {
          const nothing = (raw: Uint8Array) => Buffer.from(raw);
          client.makeUnaryRequest(path, nothing, (raw) => raw, new Uint8Array(), metadata, resolve);
        });
        expect([path, key, error?.code]).toEqual([path, key, code]);
      }
    }
    client.close();
  });
});

/** The last message of a stream of events. */
function toMessageOf(text: string): Json {
  const lines = text.split('\n').filter((line) => line.startsWith('data: {'));
  return JSON.parse(lines.at(-1)?.slice('data: '.length) ?? '{"error":"no message"}');
}
