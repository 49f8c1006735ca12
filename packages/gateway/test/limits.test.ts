// Limits of rate and cost at every face: one account for each principal, whichever way it calls.

import { join } from 'node:path';
import { FabricError } from '@starloom/core';
import { createPskVerifier, generateKey } from '@starloom/identity';
import { openSqliteJobs } from '@starloom/jobs';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { openCoordinationWorld } from './coordination-world.ts';
import { bearer, open as openOver, SocketTransport } from './message-clients.ts';
import { openSocket, request as rpcRequest } from './rpc/clients.ts';
import {
  answers,
  call,
  connect,
  fails,
  KEY,
  openTestGateway,
  STRANGER_KEY,
  type TestAgent,
} from './test-gateway.ts';

const HOUR = 3_600;
const once = { calls: 1, seconds: HOUR };
const percy: TestAgent = { run: answers('42') };
const CALL = { agent_id: 'percy', capability: 'work' };

async function send(
  url: string,
  body: unknown,
  { path = '/mcp', key = KEY, headers = {} }: SendOptions = {},
) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text && JSON.parse(text) };
}

interface SendOptions {
  readonly path?: string;
  readonly key?: string;
  readonly headers?: Record<string, string>;
}

const toolCall = (name: string, args: object, meta?: object) => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/call',
  params: { name, arguments: args, ...(meta && { _meta: meta }) },
});

const message = (text: string) => ({
  messageId: crypto.randomUUID(),
  role: 'ROLE_USER',
  parts: [{ text }],
});
const A2A = { path: '/a2a/percy', headers: { 'a2a-version': '1.0' } };

describe('a caller that calls too often', () => {
  it('gets 429 over HTTP, with Retry-After and the RateLimit fields', async () => {
    const config = { limits: { rate_per_principal: once } };
    await using gateway = await openTestGateway({ percy }, { config });
    const first = await send(gateway.url, toolCall('fabric.call', CALL));
    expect(first.status).toBe(200);
    for (const limited of [
      await send(gateway.url, toolCall('fabric.call', CALL)),
      await send(gateway.url, toolCall('percy.work', {})),
      await send(gateway.url, toolCall('fabric.call', CALL, { progressToken: 1 })),
    ]) {
      expect(limited.status).toBe(429);
      expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(HOUR - 60);
      expect(limited.headers.get('ratelimit-policy')).toBe(`"rate_per_principal";q=1;w=${HOUR}`);
      expect(limited.headers.get('ratelimit')).toMatch(/^"rate_per_principal";r=0;t=\d+$/);
      expect(limited.body).toMatchObject({
        jsonrpc: '2.0',
        id: 7,
        error: { code: -32009, data: { ok: false, error: { code: 'RATE_LIMITED' } } },
      });
      expect(limited.body.error.data.error.details.retry_after_ms).toBeGreaterThan(0);
    }
    expect((await send(gateway.url, toolCall('fabric.health', {}))).status).toBe(200);
    const other = await send(gateway.url, toolCall('fabric.call', CALL), { key: STRANGER_KEY });
    expect(other.status).toBe(200);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toContain('starloom_limited_total{limit="rate_per_principal"} 3');
  });

  it('gets 429 by the lane of the SDK and in a session too', async () => {
    const config = { limits: { rate_per_principal: once } };
    await using gateway = await openTestGateway({ percy }, { config });
    expect((await send(gateway.url, toolCall('percy.work', {}))).status).toBe(200);
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'x', version: '0' },
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/logLevel': 'debug',
    };
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'percy.work',
    };
    const limited = await send(gateway.url, toolCall('percy.work', {}, meta), { headers });
    expect(limited.status).toBe(429);
    expect(limited.headers.get('ratelimit')).not.toBeNull();
    expect(limited.body.error.code).toBe(-32009);
    for (const era of ['legacy', 'auto'] as const) {
      await using client = await connect(gateway.url, era);
      await expect(call(client, 'percy.work', {})).rejects.toThrow(/429|more often/);
    }
  });

  it('gets an error result where there is no status: over a WebSocket', async () => {
    const config = { limits: { rate_per_principal: once } };
    await using gateway = await openTestGateway({ percy }, { config });
    const url = `${gateway.url.replace('http', 'ws')}/mcp/ws`;
    const client = await openOver(new SocketTransport(url, ['mcp', bearer]), 'auto');
    expect((await call(client, 'fabric.call', CALL)).payload.ok).toBe(true);
    const { result, payload } = await call(client, 'fabric.call', CALL);
    expect(result.isError).toBe(true);
    expect(payload.error).toMatchObject({
      code: 'RATE_LIMITED',
      details: { reason: 'rate_per_principal' },
    });
    await client.close();
  });

  it('is refused over A2A too, on the same account', async () => {
    const config = { limits: { rate_per_principal: { calls: 2, seconds: HOUR } } };
    await using gateway = await openTestGateway({ percy }, { config });
    const rpc = () =>
      send(
        gateway.url,
        { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: message('hi') } },
        A2A,
      );
    expect((await send(gateway.url, toolCall('percy.work', {}))).status).toBe(200);
    expect((await rpc()).body.result).toBeDefined();
    const limited = await rpc();
    expect(limited.status).toBe(429);
    expect(limited.headers.get('retry-after')).not.toBeNull();
    expect(limited.body.error.data[0]).toMatchObject({ reason: 'RATE_LIMITED' });
    const rest = await send(
      gateway.url,
      { message: message('hi') },
      { ...A2A, path: '/a2a/percy/message:send' },
    );
    expect(rest.status).toBe(429);
    expect(rest.headers.get('ratelimit')).not.toBeNull();
    expect((await send(gateway.url, toolCall('percy.work', {}))).status).toBe(429);
  });

  it('is refused on the coordination plane, by POST, WebSocket and tool', async () => {
    const config = { limits: { rpc_rate_per_principal: { calls: 2, seconds: HOUR } } };
    await using world = await openCoordinationWorld({}, config);
    const ask = rpcRequest(1, 'mcp.discover');
    const plain = { path: '/rpc', headers: { accept: 'application/json' } };
    expect((await send(world.url, [ask, ask], plain)).status).toBe(200);
    const limited = await send(world.url, ask, plain);
    expect(limited.status).toBe(429);
    expect(limited.headers.get('ratelimit-policy')).toContain('"rpc_rate_per_principal";q=2');
    expect(limited.body.error.code).toBe(-32009);
    using socket = await openSocket(world.url);
    socket.send(JSON.stringify(ask));
    await expect.poll(() => socket.received[0]).toMatchObject({ id: 1, error: { code: -32009 } });
    await using client = await connect(world.url);
    await expect(call(client, 'session.list', {})).rejects.toMatchObject({ code: -32009 });
  });
});

describe('one charge for one call', () => {
  it('a fallback charges its agent and not the principal again', async () => {
    const config = {
      limits: {
        rate_per_principal: { calls: 2, seconds: HOUR },
        cost_per_principal: 2,
        agents: { backup: { rate: once } },
      },
    };
    const broken = fails(new FabricError('UPSTREAM_ERROR', 'broken'));
    const capabilities = [{ name: 'work', cost: 1 }];
    await using gateway = await openTestGateway(
      {
        percy: { manifest: { fallbacks: ['backup'], capabilities }, run: broken },
        backup: { manifest: { capabilities }, run: answers('saved') },
      },
      { config },
    );
    await using client = await connect(gateway.url);
    const first = await call(client, 'fabric.call', CALL);
    expect(first.payload).toMatchObject({ ok: true, fallback: true, agent_id: 'backup' });
    const second = await call(client, 'fabric.call', CALL);
    expect(second.payload.error.details.attempts).toMatchObject([
      { agent_id: 'percy', code: 'UPSTREAM_ERROR' },
      { agent_id: 'backup', code: 'RATE_LIMITED' },
    ]);
    const third = await send(gateway.url, toolCall('fabric.call', CALL));
    expect(third.body.error.data.error.details.reason).toBe('rate_per_principal');
  });

  it('an agent that is called too often is left out, and one alone says when', async () => {
    const config = { limits: { rate_per_agent: once } };
    await using gateway = await openTestGateway({ percy }, { config });
    await using client = await connect(gateway.url);
    expect((await call(client, 'fabric.call', CALL)).payload.ok).toBe(true);
    const { payload } = await call(client, 'fabric.call', CALL);
    expect(payload.error).toMatchObject({
      code: 'RATE_LIMITED',
      details: { reason: 'rate_per_agent', agent_id: 'percy', sent: false },
    });
    expect(payload.error.details.retry_after_ms).toBeGreaterThan(0);
  });

  it('the cost of a call is refused when the budget of the day is spent', async () => {
    const config = { limits: { principals: { tester: { cost: 5 } } } };
    const capabilities = [{ name: 'work', cost: 3 }, { name: 'free' }];
    const agents = { percy: { ...percy, manifest: { capabilities } } };
    await using gateway = await openTestGateway(agents, { config });
    expect((await send(gateway.url, toolCall('percy.work', {}))).status).toBe(200);
    const limited = await send(gateway.url, toolCall('percy.work', {}));
    expect(limited.status).toBe(429);
    expect(limited.headers.get('ratelimit-policy')).toBe('"cost_per_principal";q=5;w=86400');
    expect((await send(gateway.url, toolCall('percy.free', {}))).status).toBe(200);
    const other = await send(gateway.url, toolCall('percy.work', {}), { key: STRANGER_KEY });
    expect(other.status).toBe(200);
  });

  it('a job is charged when it is accepted, its repetition is not, a retry is', async () => {
    await using folder = await temporaryFolder();
    const jobs = await openSqliteJobs({ path: join(folder.path, 'jobs.sqlite') });
    const config = {
      limits: { rate_per_principal: { calls: 3, seconds: HOUR }, cost_per_principal: 30 },
    };
    const agents = {
      percy: { ...percy, manifest: { capabilities: [{ name: 'work', cost: 10 }] } },
    };
    await using gateway = await openTestGateway(agents, { config, jobs });
    const keyed = (key: string) =>
      send(gateway.url, toolCall('fabric.call', { ...CALL, idempotency_key: key }));
    for (let again = 0; again < 5; again += 1) {
      expect((await keyed('a')).body.result.structuredContent.result.answer).toBe('42');
    }
    const started = await send(gateway.url, toolCall('fabric.call', { ...CALL, async: true }));
    const { job_id } = started.body.result.structuredContent;
    const state = async () => {
      const { body } = await send(gateway.url, toolCall('fabric.job.status', { job_id }));
      return body.result.structuredContent.job.state;
    };
    await expect.poll(state).toBe('succeeded');
    const retry = () => send(gateway.url, toolCall('fabric.job.retry', { job_id }));
    expect((await retry()).status).toBe(200);
    expect((await retry()).status).toBe(429);
    expect((await keyed('b')).status).toBe(429);
    expect((await keyed('a')).status).toBe(200);
    await gateway.gateway.close();
    await jobs.close();
  });
});

describe('one noisy principal', () => {
  it('at a hundred times the calls of the others leaves them all of theirs (R18)', async () => {
    const names = ['noisy', ...Array.from({ length: 8 }, (_, n) => `quiet-${n}`)];
    const keys = names.map((principal) => ({ key_id: principal, key: generateKey(), principal }));
    const psk = createPskVerifier(
      keys.map((key) => ({ ...key, tier: 'org' as const, scopes: ['*'] })),
    );
    const config = {
      limits: {
        rate_per_principal: { calls: 40, seconds: HOUR },
        calls_per_principal: 16,
        calls_per_agent: 32,
      },
    };
    await using gateway = await openTestGateway({ percy }, { config, psk });
    const CALLS = 10;
    const outcomes = new Map<string, Record<number, number>>();
    const hammer = async (principal: string, key: string, calls: number) => {
      const counts: Record<number, number> = {};
      outcomes.set(principal, counts);
      for (let n = 0; n < calls; n += 1) {
        const { status } = await send(gateway.url, toolCall('percy.work', {}), { key });
        counts[status] = (counts[status] ?? 0) + 1;
      }
    };
    const [noisy, ...quiet] = keys;
    const lanes = Array.from({ length: 20 }, (_, lane) =>
      hammer(`noisy ${lane}`, noisy?.key ?? '', CALLS * 5),
    );
    await Promise.all([
      ...lanes,
      ...quiet.map(({ principal, key }) => hammer(principal, key, CALLS)),
    ]);
    const served = (prefix: string, status: number) =>
      [...outcomes]
        .filter(([name]) => name.startsWith(prefix))
        .reduce((sum, [, counts]) => sum + (counts[status] ?? 0), 0);
    expect(served('quiet', 200) / (quiet.length * CALLS)).toBeGreaterThanOrEqual(0.999);
    expect(served('noisy', 200)).toBe(40);
    expect(served('noisy', 429)).toBe(20 * CALLS * 5 - 40);
  });
});
