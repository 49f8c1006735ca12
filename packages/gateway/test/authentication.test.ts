import { createConnection } from 'node:net';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { answers, connect, KEY, openTestGateway } from './test-gateway.ts';

const agents = { percy: { run: answers('x') } };
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

async function post(url: string, headers: Record<string, string>, body: unknown = list) {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

describe('authentication', () => {
  it('[G11] maps a known key to its principal', async () => {
    await using gateway = await openTestGateway(agents);
    const { status } = await post(gateway.url, { authorization: `Bearer ${KEY}` });
    expect(status).toBe(200);
  });

  it.each([
    ['no key', {}],
    ['a wrong key', { authorization: 'Bearer wrong-key-0123456789abcdef' }],
    ['another scheme', { authorization: `Basic ${KEY}` }],
    ['an empty key', { authorization: 'Bearer ' }],
  ])('[G9] refuses %s for every method with the canonical error', async (_, headers) => {
    await using gateway = await openTestGateway(agents);
    for (const method of ['tools/list', 'tools/call', 'initialize', 'server/discover', 'ping']) {
      const answer = await post(gateway.url, headers, { ...list, method });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toContain('Bearer');
      expect(JSON.parse(answer.text)).toMatchObject({
        jsonrpc: '2.0',
        id: null,
        error: {
          code: -32001,
          data: {
            ok: false,
            error: { code: 'AUTH_DENIED' },
            trace: { trace_id: expect.any(String) },
          },
        },
      });
    }
  });

  it('[G9] looks at the key before the body, whatever the body is', async () => {
    await using gateway = await openTestGateway(agents);
    const wrong = { authorization: 'Bearer wrong-key-0123456789abcdef' };
    const params = { name: 'fabric.call', arguments: { capability: 7 } };
    const badArguments = await post(gateway.url, wrong, { ...list, method: 'tools/call', params });
    expect(badArguments.status).toBe(401);
    const badFrame = await post(gateway.url, wrong, { jsonrpc: '1.0' });
    expect(badFrame.status).toBe(401);
    expect((await fetch(`${gateway.url}/nowhere`)).status).toBe(401);
  });

  it('covers GET, DELETE and WebSocket upgrades too', async () => {
    await using gateway = await openTestGateway(agents);
    for (const method of ['GET', 'DELETE']) {
      expect((await fetch(`${gateway.url}/mcp`, { method })).status).toBe(401);
    }
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/mcp/ws`, ['mcp']);
    const [response] = await new Promise<[{ statusCode?: number | undefined }]>((resolve) => {
      socket.once('unexpected-response', (_, incoming) => resolve([incoming]));
      socket.once('error', () => {});
    });
    expect(response.statusCode).toBe(401);
  });

  it('answers a client that waits to send its body at once, and tells only known ones to send it', async () => {
    await using gateway = await openTestGateway(agents);
    const { hostname, port, host } = new URL(gateway.url);
    const body = JSON.stringify(list);
    const ask = async (headers: readonly string[]) => {
      const socket = createConnection({ host: hostname, port: Number(port) });
      const head = [
        'POST /mcp HTTP/1.1',
        `Host: ${host}`,
        'Expect: 100-continue',
        'Content-Type: application/json',
        'Accept: application/json, text/event-stream',
        `Content-Length: ${body.length}`,
        ...headers,
      ];
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
      let received = '';
      for await (const chunk of socket.setEncoding('utf8')) {
        received += chunk;
        if (received.endsWith('100 Continue\r\n\r\n')) socket.write(body);
        if (received.includes('"tools"')) break;
      }
      return received.split('\r\n').filter((line) => line.startsWith('HTTP/1.1'));
    };
    expect(await ask([])).toEqual(['HTTP/1.1 401 Unauthorized']);
    expect(await ask([`Authorization: Bearer ${KEY}`])).toEqual([
      'HTTP/1.1 100 Continue',
      'HTTP/1.1 200 OK',
    ]);
  });

  it('lets callers without a key in only when asked to, and a wrong key not even then', async () => {
    await using gateway = await openTestGateway(agents, { anonymous: true });
    expect((await post(gateway.url, {})).status).toBe(200);
    const wrong = { authorization: 'Bearer wrong-key-0123456789abcdef' };
    expect((await post(gateway.url, wrong)).status).toBe(401);
  });

  it('serves liveness, readiness and local metrics without a key', async () => {
    await using gateway = await openTestGateway(agents);
    for (const path of ['/livez', '/readyz', '/metrics']) {
      expect((await fetch(gateway.url + path)).status).toBe(200);
    }
    const proxied = await fetch(`${gateway.url}/metrics`, {
      headers: { 'x-forwarded-for': '1.2.3.4' },
    });
    expect(proxied.status).toBe(401);
  });

  it('refuses foreign hosts and origins on every route', async () => {
    const { request } = await import('node:http');
    await using gateway = await openTestGateway(agents);
    const { port } = new URL(gateway.url);
    const statusOf = (path: string, headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        request({ port, path, headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on('error', reject)
          .end();
      });
    for (const path of ['/mcp', '/livez', '/readyz', '/metrics']) {
      expect(await statusOf(path, { host: 'evil.example' })).toBe(403);
      expect(await statusOf(path, { origin: 'http://evil.example' })).toBe(403);
      expect(await statusOf(path, { origin: 'null' })).toBe(403);
    }
    expect(await statusOf('/livez', { origin: 'http://localhost:3000' })).toBe(200);
  });

  it('keeps the key out of the log', async () => {
    const lines: string[] = [];
    await using gateway = await openTestGateway(agents, { log: (line) => lines.push(line) });
    await using client = await connect(gateway.url);
    await client.listTools();
    await post(gateway.url, { authorization: 'Bearer wrong-key-0123456789abcdef' });
    await expect.poll(() => lines.join('')).toContain('AUTH_DENIED');
    expect(lines.join('')).not.toMatch(/test-key-0123|wrong-key-0123/);
  });
});
