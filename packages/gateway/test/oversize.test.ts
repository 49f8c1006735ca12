import { once } from 'node:events';
import { createConnection } from 'node:net';
import { describe, expect, it } from 'vitest';
import { openCoordinationWorld } from './coordination-world.ts';
import { openSocket, pipes, post, request } from './rpc/clients.ts';
import { KEY } from './test-gateway.ts';

const config = { limits: { body_bytes: 100_000 } };
const HOST = 'host: 127.0.0.1';
const LARGE = 8_000_000;
const payload = Buffer.alloc(LARGE, 0x20);
const bounded = { timeout: 15_000 };

describe('input over the size limit', () => {
  it.each(['/rpc/ws', '/mcp/ws'])('closes %s with 1009', async (path) => {
    await using world = await openCoordinationWorld({}, config);
    for (const bytes of [100_001, 8_000_000]) {
      using wire = await openSocket(world.url, path);
      wire.socket.on('error', () => {});
      const closed = once(wire.socket, 'close');
      wire.send('x'.repeat(bytes));
      const [code] = await closed;
      expect(code).toBe(1009);
    }
  });

  it('is answered with 413 however much is on its way', async () => {
    await using world = await openCoordinationWorld({}, config);
    for (const bytes of [100_001, 1_000_000, 16_000_000]) {
      const response = await post(world.url, 'x'.repeat(bytes));
      expect(response.status).toBe(413);
      expect(response.headers.get('connection')).toBe('close');
      expect(await response.json()).toMatchObject({
        error: { data: { details: expect.any(String) } },
      });
    }
    const next = await post(world.url, request(1, 'mcp.discover'));
    expect(await next.json()).toHaveProperty('result');
  });

  it('is answered with 413 to a client that reads when it has sent all', async () => {
    await using world = await openCoordinationWorld({}, config);
    const type = 'content-type: application/json';
    const key = `authorization: Bearer ${KEY}`;
    const lines = ['POST /rpc HTTP/1.1', HOST, key, type, `content-length: ${LARGE}`];
    const head = `${lines.join('\r\n')}\r\n\r\n`;
    const received = await sendAll(world.url, Buffer.concat([Buffer.from(head), payload]));
    expect(received.toString()).toMatch(/^HTTP\/1.1 413 /);
    expect(received.toString()).toContain('body_too_large');
  });

  it.each(['/rpc/ws', '/mcp/ws'])(
    'closes %s with 1009 for a client that reads when it has sent all',
    async (path) => {
      await using world = await openCoordinationWorld({}, config);
      const upgrade = [
        `GET ${path} HTTP/1.1`,
        HOST,
        `authorization: Bearer ${KEY}`,
        'connection: Upgrade',
        'upgrade: websocket',
        'sec-websocket-version: 13',
        'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      ];
      const head = Buffer.from(`${upgrade.join('\r\n')}\r\n\r\n`);
      const frame = Buffer.alloc(14);
      frame.set([0x81, 0xff]);
      frame.writeBigUInt64BE(BigInt(LARGE), 2);
      const received = await sendAll(world.url, Buffer.concat([head, frame, payload]));
      const closing = received.subarray(received.indexOf('\r\n\r\n') + 4);
      expect([closing[0], closing.readUInt16BE(2)]).toEqual([0x88, 1009]);
    },
  );

  it('ends the connection of who sends on and on', async () => {
    await using world = await openCoordinationWorld({}, config);
    const socket = createConnection(Number(new URL(world.url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(
      'POST /rpc HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    );
    const chunk = Buffer.from(`100000\r\n${' '.repeat(0x10_00_00)}\r\n`);
    let sent = 0;
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    while (!socket.destroyed && sent < 500_000_000) {
      sent += chunk.length;
      if (socket.write(chunk)) continue;
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
    }
    await closed;
    expect(sent).toBeLessThan(500_000_000);
  });

  it('is skipped on standard input of MCP, and the next line is served', async () => {
    await using world = await openCoordinationWorld({}, config);
    const { input, output, received } = pipes();
    const served = world.gateway.serveStdio(input, output);
    input.write(`${'x'.repeat(100_001)}\n`);
    input.write(Uint8Array.of(0xff, 0x0a));
    const clientInfo = { name: 'x', version: '0' };
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    input.write(`${JSON.stringify(request(3, 'initialize', hello))}\n`);
    await expect.poll(() => received.length, bounded).toBe(3);
    expect(received).toMatchObject([
      { id: null, error: { code: -32600, data: { error: { details: { limit: 100_000 } } } } },
      { id: null, error: { code: -32700 } },
      { id: 3, result: { serverInfo: { name: 'starloom' } } },
    ]);
    input.end();
    await served;
  });
});

/** What came back, read only when all was sent or could not be. */
async function sendAll(url: string, bytes: Buffer): Promise<Buffer> {
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1');
  const received: Buffer[] = [];
  socket.on('data', (chunk) => received.push(chunk)).pause();
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const sent = new Promise((resolve) => socket.write(bytes, resolve));
  await Promise.race([sent, closed]);
  socket.resume();
  await closed;
  return Buffer.concat(received);
}
