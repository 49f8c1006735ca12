// Whatever bytes come: no crash, no hang, nobody let in, and an answer that is JSON-RPC. R10 of the
// reliability scenarios.

import { createConnection } from 'node:net';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { openCoordinationWorld } from './coordination-world.ts';
import { bearer } from './message-clients.ts';
import { KEY } from './test-gateway.ts';

const RUNS = { numRuns: 250 };

/** JSON-RPC that is right in some places and strange in others. */
const strange = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(null, '', 0, -1, 1.5, 1e308, [], {}, true, '__proto__', '\u0000', '\ud800'),
);
const methods = fc.oneof(
  fc.constantFrom(
    'initialize',
    'ping',
    'server/discover',
    'tools/list',
    'tools/call',
    'resources/read',
    'resources/subscribe',
    'prompts/get',
    'completion/complete',
    'logging/setLevel',
    'tasks/get',
    'notifications/cancelled',
    'mcp.discover',
    'session_manager.create',
    'memory_locker.acquire',
    'context_coordinator.update',
    'SendMessage',
    'GetTask',
  ),
  strange,
);
const params = fc.oneof(
  strange,
  fc.record(
    {
      name: fc.oneof(fc.constantFrom('fabric.call', 'percy.work', 'session.list'), strange),
      arguments: fc.oneof(fc.record({ capability: strange, task: strange }), strange),
      _meta: fc.oneof(
        fc.dictionary(fc.constantFrom('progressToken', 'traceparent'), strange),
        strange,
      ),
      uri: strange,
      cursor: strange,
      session_id: strange,
      message: strange,
    },
    { requiredKeys: [] },
  ),
);
const rpc = fc.record(
  {
    jsonrpc: fc.oneof(
      { weight: 5, arbitrary: fc.constant('2.0') },
      { weight: 1, arbitrary: strange },
    ),
    id: fc.oneof(fc.integer(), fc.string(), strange),
    method: methods,
    params,
  },
  { requiredKeys: [] },
);
const bodies = fc.oneof(
  { weight: 4, arbitrary: rpc.map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.array(rpc, { maxLength: 4 }).map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(rpc, fc.nat(), fc.constantFrom('', '"', '{', ']', ',', '\\', '\u0000'))
      .map(([value, at, put]) => {
        const json = JSON.stringify(value);
        const index = at % (json.length + 1);
        return json.slice(0, index) + put + json.slice(index + 1);
      }),
  },
);

describe('bytes from a fuzzer', () => {
  let world: Awaited<ReturnType<typeof openCoordinationWorld>>;
  let calls = 0;
  beforeAll(async () => {
    const run = async function* () {
      calls += 1;
      yield { type: 'final' as const, data: { answer: 'done' } };
    };
    world = await openCoordinationWorld({ percy: { run } });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const post = async (path: string, body: string, headers: Record<string, string>) => {
    const response = await fetch(world.url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body,
      signal: AbortSignal.timeout(10_000),
    });
    const stream = response.headers.get('content-type')?.includes('event-stream');
    // A subscription stays open: its head is enough.
    if (stream) await response.body?.cancel();
    return { status: response.status, answer: stream ? '' : await response.text() };
  };
  const isServed = async () => (await fetch(`${world.url}/livez`)).status === 200;

  it('as a message, over HTTP: every answer is JSON-RPC, and none is an internal error', async () => {
    const paths = fc.constantFrom('/mcp', '/rpc', '/a2a/percy', '/memory-locker');
    await fc.assert(
      fc.asyncProperty(paths, bodies, async (path, body) => {
        const accept = path === '/mcp' ? {} : { accept: 'application/json' };
        const headers = { authorization: `Bearer ${KEY}`, 'a2a-version': '1.0', ...accept };
        const { status, answer } = await post(path, body, headers);
        expect(status).toBeLessThan(500);
        if (answer === '') return;
        for (const one of [JSON.parse(answer)].flat()) {
          expect(one.jsonrpc).toBe('2.0');
          expect('result' in one || 'error' in one).toBe(true);
        }
      }),
      RUNS,
    );
    expect(await isServed()).toBe(true);
  });

  it('as a message without a key: nothing but AUTH_DENIED, and no agent is called', async () => {
    const before = calls;
    const paths = fc.constantFrom('/mcp', '/rpc', '/a2a/percy', '/nowhere');
    await fc.assert(
      fc.asyncProperty(paths, bodies, async (path, body) => {
        const { status, answer } = await post(path, body, {});
        expect(status).toBe(401);
        expect(answer).toContain('AUTH_DENIED');
      }),
      RUNS,
    );
    expect(calls).toBe(before);
  });

  it('as headers: nobody is let in, and the gateway serves on', async () => {
    const before = calls;
    const name = fc.oneof(
      fc.constantFrom(
        'authorization',
        'Authorization',
        'x-agent-passport',
        'x-agent-mandate',
        'sec-websocket-protocol',
        'mcp-session-id',
        'mcp-protocol-version',
        'x-openstarry-depth',
        'x-openstarry-trace-id',
        'traceparent',
        'host',
        'origin',
        'content-length',
        'transfer-encoding',
        'connection',
        'expect',
      ),
      fc.string({ maxLength: 20 }),
    );
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.constantFrom(
        'Bearer',
        'Bearer ',
        'Basic Og==',
        'chunked',
        'upgrade',
        '100-continue',
        '-1',
      ),
    );
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'percy.work', arguments: {} },
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, value), { maxLength: 4 }), async (headers) => {
        const socket = createConnection(Number(new URL(world.url).port), '127.0.0.1');
        socket.on('error', () => {});
        const lines = headers.map(([one, other]) => `${one}: ${other}`);
        const head = ['POST /mcp HTTP/1.1', 'host: 127.0.0.1', 'content-type: application/json'];
        socket.end(
          `${[...head, ...lines, `content-length: ${body.length}`].join('\r\n')}\r\n\r\n${body}`,
        );
        const answer = await text(socket).catch(() => '');
        expect(answer).not.toMatch(/^HTTP\/1\.1 [25]/);
      }),
      RUNS,
    );
    expect(calls).toBe(before);
    expect(await isServed()).toBe(true);
  });

  it('as frames of a WebSocket: it answers on, or closes', async () => {
    for (const path of ['/mcp/ws', '/rpc/ws']) {
      await fc.assert(
        fc.asyncProperty(fc.array(bodies, { minLength: 1, maxLength: 5 }), async (frames) => {
          const socket = new WebSocket(world.url.replace('http', 'ws') + path, ['mcp', bearer]);
          const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
          socket.on('error', () => {});
          socket.on('message', (data) => {
            for (const one of [JSON.parse(data.toString())].flat()) expect(one.jsonrpc).toBe('2.0');
          });
          await new Promise((resolve) => socket.once('open', resolve));
          for (const frame of frames) socket.send(frame);
          socket.close();
          await closed;
        }),
        { numRuns: 40 },
      );
    }
    expect(await isServed()).toBe(true);
  });
});
