import { once } from 'node:events';
import { createConnection } from 'node:net';
import { text } from 'node:stream/consumers';
import { createPskVerifier } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { answers, KEY, openTestGateway } from '../test-gateway.ts';

const agents = { percy: { run: answers('x') } };
const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });

async function send(url: string, lines: readonly string[], body = ''): Promise<string> {
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
  return await text(socket);
}

const withKey = [`authorization: Bearer ${KEY}`, 'content-type: application/json'];

describe('an HTTP request', () => {
  it('without a valid key is refused before its body is sent', async () => {
    await using gateway = await openTestGateway(agents);
    const socket = createConnection(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.write(
      'POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 4000000\r\n\r\n{',
    );
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 401 /);
    socket.destroy();
  });

  it.each([
    ['two Host headers', ['POST /mcp HTTP/1.1', 'host: 127.0.0.1', 'host: localhost'], 400],
    ['the target //evil/rpc', ['POST //evil/rpc HTTP/1.1', 'host: 127.0.0.1'], 400],
    ['the target /x/../mcp', ['POST /x/../mcp HTTP/1.1', 'host: 127.0.0.1'], 400],
    ['the target /x/%2e%2e/mcp', ['POST /x/%2e%2e/mcp HTTP/1.1', 'host: 127.0.0.1'], 400],
    ['a whole URL', ['POST http://127.0.0.1/mcp HTTP/1.1', 'host: 127.0.0.1'], 400],
    ['the method TRACE', ['TRACE /mcp HTTP/1.1', 'host: 127.0.0.1'], 405],
    ['the method PUT', ['PUT /mcp HTTP/1.1', 'host: 127.0.0.1'], 405],
  ])('with %s is refused', async (_, head, status) => {
    await using gateway = await openTestGateway(agents);
    const lines = [...head, ...withKey, `content-length: ${list.length}`];
    const answer = await send(gateway.url, lines, list);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it.each([
    ['agents.example.com', 401],
    ['Agents.Example.com:443', 401],
    ['evil.example.com', 403],
  ])('for the host %s is answered %s behind a balancer of the first name', async (host, status) => {
    const config = { listen: { port: 0, names: ['agents.example.com'] } };
    await using gateway = await openTestGateway(agents, { config });
    const answer = await send(gateway.url, [
      'GET /mcp HTTP/1.1',
      `host: ${host}`,
      'connection: close',
    ]);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it('that is broken off is no error of ours', async () => {
    const lines: string[] = [];
    await using gateway = await openTestGateway(agents, { log: (line) => lines.push(line) });
    for (let n = 0; n < 20; n += 1) {
      const socket = createConnection(Number(new URL(gateway.url).port), '127.0.0.1');
      socket.write(
        `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n${withKey.join('\r\n')}\r\ncontent-length: 1000\r\n\r\n{`,
        () => socket.resetAndDestroy(),
      );
      await once(socket, 'close');
    }
    await fetch(`${gateway.url}/livez`);
    expect(lines.filter((line) => /"level":"(?:error|warn)"/.test(line))).toEqual([]);
  });

  it('may hold only so much of an unfinished body; others are served meanwhile', async () => {
    await using gateway = await openTestGateway(agents);
    const part = `{"x":"${'x'.repeat(3_900_000)}`;
    const head = `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n${withKey.join('\r\n')}\r\ncontent-length: 4000000\r\n\r\n`;
    const answers: string[] = [];
    const sockets = Array.from({ length: 24 }, () => {
      const socket = createConnection(Number(new URL(gateway.url).port), '127.0.0.1');
      socket.on('error', () => {});
      socket.on('data', (data) => answers.push(data.toString().slice(0, 12)));
      socket.write(head + part);
      return socket;
    });
    await expect.poll(() => answers).toContain('HTTP/1.1 503');
    const response = await fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer other-key-0123456789abcde',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: list,
    });
    expect(response.status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });
});

describe('metrics through a proxy', () => {
  it('need a key with the scope admin:metrics', async () => {
    const psk = createPskVerifier([
      { key_id: 'a', key: KEY, principal: 'a', tier: 'org', scopes: ['admin:metrics'] },
      {
        key_id: 'b',
        key: 'key-b-0123456789abcdef',
        principal: 'b',
        tier: 'org',
        scopes: ['agent:x'],
      },
    ]);
    await using gateway = await openTestGateway(agents, { psk });
    const read = async (key: string) => {
      const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': '192.0.2.1' };
      return (await fetch(`${gateway.url}/metrics`, { headers })).status;
    };
    expect(await read(KEY)).toBe(200);
    expect(await read('key-b-0123456789abcdef')).toBe(403);
    expect(await read('key-c-0123456789abcdef')).toBe(401);
  });
});

describe('a WebSocket', () => {
  it('answers pings, but not those of a client that reads no answers', async () => {
    await using gateway = await openTestGateway(agents);
    const url = `${gateway.url.replace('http', 'ws')}/mcp/ws`;
    const headers = { authorization: `Bearer ${KEY}` };
    const calm = new WebSocket(url, ['mcp'], { headers });
    await once(calm, 'open');
    calm.ping('hello');
    const [data] = (await once(calm, 'pong')) as [Buffer];
    expect(data.toString()).toBe('hello');
    const pongs: string[] = [];
    calm.on('pong', (pong: Buffer) => pongs.push(pong.toString()));
    for (let n = 1; n <= 50; n += 1) calm.ping(String(n));
    await expect.poll(() => pongs.at(-1)).toBe('50');
    expect(pongs.length).toBeLessThan(50);
    const flood = new WebSocket(url, ['mcp'], { headers });
    await once(flood, 'open');
    flood.pause();
    flood.on('error', () => {});
    const closed = once(flood, 'close');
    const load = 'x'.repeat(120);
    while (flood.readyState === WebSocket.OPEN) {
      for (let n = 0; n < 1_000; n += 1) flood.ping(load);
      await new Promise((resolve) => setImmediate(resolve));
      if (flood.bufferedAmount > 500_000_000) expect.fail('the flood was never ended');
    }
    flood.resume();
    await closed;
    calm.close();
  });

  it('reads no more of a client that floods it with pings, and cuts it off later', async () => {
    await using gateway = await openTestGateway(agents);
    const url = `${gateway.url.replace('http', 'ws')}/mcp/ws`;
    const headers = { authorization: `Bearer ${KEY}` };
    const calm = new WebSocket(url, ['mcp'], { headers });
    const flood = new WebSocket(url, ['mcp'], { headers });
    await Promise.all([once(calm, 'open'), once(flood, 'open')]);
    const closed = once(flood, 'close');
    const pongs: string[] = [];
    flood.on('error', () => {}).on('pong', (pong: Buffer) => pongs.push(pong.toString()));
    for (let n = 1; n <= 500; n += 1) flood.ping('flood');
    for (let n = 1; n <= 10; n += 1) {
      calm.ping(String(n));
      await once(calm, 'pong');
    }
    expect(flood.readyState).toBe(WebSocket.OPEN);
    flood.ping('later');
    await closed;
    expect(pongs).not.toContain('later');
    calm.close();
  });
});
