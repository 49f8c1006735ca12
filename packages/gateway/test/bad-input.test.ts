import { request } from 'node:http';
import { createConnection } from 'node:net';
import { FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { answers, call, connect, KEY, openTestGateway, type TestAgent } from './test-gateway.ts';

const echo: TestAgent = {
  run: async function* ({ input }) {
    yield { type: 'final', data: { answer: input.task } };
  },
};
const config = { limits: { body_bytes: 100_000 } };

async function post(url: string, body: string | Buffer, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
    body,
  });
  const text = await response.text();
  return { status: response.status, answer: text.startsWith('{') ? JSON.parse(text) : text };
}

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
const message = (params: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;

describe('bad input', () => {
  it.each([
    ['text that is no JSON', 'hello', 400, -32700],
    ['broken JSON', '{"jsonrpc":"2.0",', 400, -32700],
    ['nothing', '', 400, -32700],
    ['an empty batch', '[]', 400, -32600],
    ['a number', '42', 400, -32600],
    ['JSON-RPC 1.0', '{"jsonrpc":"1.0","id":1,"method":"x"}', 400, -32600],
    ['no method', '{"jsonrpc":"2.0","id":1}', 400, -32600],
    ['a method that is a number', '{"jsonrpc":"2.0","id":1,"method":7}', 400, -32600],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"x"}', 400, -32600],
    ['params that are text', '{"jsonrpc":"2.0","id":1,"method":"x","params":"y"}', 400, -32600],
    [
      'nesting beyond the limit',
      message(`{"name":"x","arguments":{"a":${nested(100)}}}`),
      400,
      -32600,
    ],
    ['deep nesting', message(`{"a":${nested(20_000)}}`), 400, -32600],
    [
      'a __proto__ key',
      message('{"name":"x","arguments":{"__proto__":{"admin":true}}}'),
      400,
      -32600,
    ],
    [
      'constructor.prototype',
      message('{"arguments":{"constructor":{"prototype":{}}}}'),
      400,
      -32600,
    ],
    ['a body beyond the limit', `"${'x'.repeat(100_000)}"`, 413, -32602],
  ])('[G9] refuses %s with a canonical error', async (_, body, status, code) => {
    await using gateway = await openTestGateway({ echo }, { config });
    const refused = await post(gateway.url, body);
    expect(refused.status).toBe(status);
    expect(refused.answer).toMatchObject({
      jsonrpc: '2.0',
      error: { code, data: { ok: false, error: { code: 'BAD_INPUT' }, trace: expect.any(Object) } },
    });
    expect(Object.prototype).not.toHaveProperty('admin');
    await using client = await connect(gateway.url);
    expect(
      (await call(client, 'fabric.call', { capability: 'work', task: 'well' })).payload.ok,
    ).toBe(true);
  });

  it('refuses invalid UTF-8 and other content types', async () => {
    await using gateway = await openTestGateway({ echo });
    expect((await post(gateway.url, Buffer.from([0x22, 0xff, 0xfe, 0x22]))).status).toBe(400);
    expect((await post(gateway.url, '{}', { 'content-type': 'text/plain' })).status).toBe(415);
    const headers = { authorization: `Bearer ${KEY}` };
    expect((await fetch(`${gateway.url}/nowhere`, { headers })).status).toBe(404);
  });

  it('cuts a body without length as soon as it is too long', async () => {
    await using gateway = await openTestGateway({ echo }, { config });
    const { port } = new URL(gateway.url);
    let sent = 0;
    const status = await new Promise<number | undefined>((resolve) => {
      const upload = request(
        {
          port,
          path: '/mcp',
          method: 'POST',
          headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        },
        (response) => {
          upload.destroy();
          response.resume();
          resolve(response.statusCode);
        },
      );
      upload.on('error', () => {});
      const chunk = Buffer.alloc(50_000, 0x20);
      const more = () => {
        if (upload.destroyed || sent > 50_000_000) return;
        sent += chunk.length;
        upload.write(chunk, () => setImmediate(more));
      };
      more();
    });
    expect(status).toBe(413);
    expect(sent).toBeLessThan(50_000_000);
  });

  it('refuses headers that do not agree with the body', async () => {
    await using gateway = await openTestGateway({ echo });
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'x', version: '0' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'fabric.health', arguments: {}, _meta: meta },
    };
    const headers = {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
    };
    const agreed = await post(gateway.url, JSON.stringify(body), {
      ...headers,
      'mcp-name': 'fabric.health',
    });
    expect(agreed.status).toBe(200);
    const mismatch = await post(gateway.url, JSON.stringify(body), {
      ...headers,
      'mcp-name': 'fabric.call',
    });
    expect(mismatch).toMatchObject({ status: 400, answer: { error: { code: -32020 } } });
  });

  it('crosses no answers of a thousand clients with equal request ids', async () => {
    await using gateway = await openTestGateway({ echo });
    const ask = async (n: number) => {
      const params = { name: 'fabric.call', arguments: { capability: 'work', task: `task ${n}` } };
      const body = { jsonrpc: '2.0', id: 0, method: 'tools/call', params };
      const { answer } = await post(gateway.url, JSON.stringify(body), {
        accept: 'application/json, text/event-stream',
      });
      return answer.result.structuredContent.result.answer === `task ${n}`;
    };
    for (let round = 0; round < 10; round += 1) {
      const right = await Promise.all(Array.from({ length: 100 }, (_, n) => ask(round * 100 + n)));
      expect(right.every(Boolean)).toBe(true);
    }
  });

  it('frees the call of a client that vanishes', async () => {
    const told = Promise.withResolvers<unknown>();
    const run: TestAgent['run'] = async function* (_, signal) {
      signal.addEventListener('abort', () => told.resolve(signal.reason), { once: true });
      yield { type: 'token', data: { text: 'x' } };
      await new Promise(() => {});
    };
    await using gateway = await openTestGateway({ echo: { run } });
    const { port } = new URL(gateway.url);
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'fabric.call',
        arguments: { capability: 'work' },
        _meta: { progressToken: 1 },
      },
    });
    const socket = createConnection(Number(port), '127.0.0.1');
    socket.write(
      `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${KEY}\r\n` +
        'content-type: application/json\r\naccept: application/json, text/event-stream\r\n' +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
    expect(FabricError.is(await told.promise)).toBe(true);
  });

  it.each([
    ['ends without a result', async function* () {}],
    [
      'answers twice',
      async function* () {
        yield { type: 'final', data: { answer: 'one' } } as const;
        yield { type: 'final', data: { answer: 'two' } } as const;
      },
    ],
    [
      'ignores the signal',
      async function* () {
        yield { type: 'token', data: { text: '' } } as const;
        await new Promise(() => {});
      },
    ],
    [
      'never ends',
      async function* () {
        while (true) {
          yield { type: 'token', data: { text: 'and ' } } as const;
          await new Promise(setImmediate);
        }
      },
    ],
  ] satisfies [string, TestAgent['run']][])(
    'answers in good time when an agent %s, and goes on',
    async (_, run) => {
      await using gateway = await openTestGateway({ bad: { run }, good: { run: answers('fine') } });
      await using client = await connect(gateway.url);
      const bad = { agent_id: 'bad', capability: 'work', timeout_ms: 200, deadline_ms: 1_000 };
      const { payload } = await call(client, 'fabric.call', bad);
      expect(payload.ok).toBe(true);
      expect(payload.result.answer).toMatch(/^(fine|one)$/);
      const good = await call(client, 'fabric.call', { agent_id: 'good', capability: 'work' });
      expect(good.payload.result.answer).toBe('fine');
    },
  );

  it('says clearly that its port is taken', async () => {
    await using first = await openTestGateway({ echo });
    const port = Number(new URL(first.url).port);
    const second = openTestGateway({ echo }, { config: { listen: { port } } });
    await expect(second).rejects.toMatchObject({ details: { reason: 'port_busy' } });
  });
});
