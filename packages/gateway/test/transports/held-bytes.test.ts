import { EventEmitter, once } from 'node:events';
import { connect as connectTo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { OpenRequests } from '../../src/transports/message-transport.ts';
import { HeldBytes, SMALL_BYTES } from '../../src/transports/reply.ts';
import { answers, call, connect, KEY, openTestGateway, STRANGER_KEY } from '../test-gateway.ts';

const MIB = 1024 ** 2;

class Connection extends EventEmitter {
  writableLength = 0;
  destroyed = false;

  destroy() {
    this.destroyed = true;
    this.emit('close');
  }
}

function open(perPrincipal: number) {
  let cuts = 0;
  const onCut = () => {
    cuts += 1;
  };
  const held = new HeldBytes({ perPrincipal, onCut });
  const write = (connection: Connection, bytes: number, principal = 'noisy') => {
    connection.writableLength += bytes;
    held.written(principal, connection);
    return connection;
  };
  return { held, write, cuts: () => cuts };
}

describe('bytes held for a principal', () => {
  it('are counted over its connections until they are read', () => {
    const { held, write, cuts } = open(MIB);
    const one = write(new Connection(), 400_000);
    const two = write(new Connection(), 400_000);
    write(new Connection(), SMALL_BYTES);
    expect(held.of('noisy')).toBe(800_000);
    one.writableLength = 100;
    one.emit('drain');
    expect(held.of('noisy')).toBe(400_100);
    two.destroy();
    one.destroy();
    expect(held.of('noisy')).toBe(0);
    expect(cuts()).toBe(0);
  });

  it('cut the connection that makes them too many, and no connection of another', () => {
    const { held, write, cuts } = open(MIB);
    const quiet = write(new Connection(), 900_000, 'quiet');
    const first = write(new Connection(), 900_000);
    const second = write(new Connection(), 900_000);
    expect([quiet, first, second].map(({ destroyed }) => destroyed)).toEqual([false, false, true]);
    expect(held.of('noisy')).toBe(900_000);
    expect(cuts()).toBe(1);
  });

  it('are shared by requests on all of its WebSockets', () => {
    const { held } = open(1_000);
    const most = { requests: 100, bytes: 10_000 };
    const requests = (principalId: string) => new OpenRequests(most, { held, principalId });
    const [one, two, other] = [requests('noisy'), requests('noisy'), requests('quiet')];
    one.assertRoom(600);
    one.begin(1, 600);
    expect(() => two.assertRoom(600)).toThrow(
      expect.objectContaining({
        code: 'OVERLOADED',
        details: expect.objectContaining({ reason: 'bytes_per_principal', limit: 1_000 }),
      }),
    );
    other.assertRoom(600);
    one.begin(1, 300);
    one.close();
    expect(held.of('noisy')).toBe(0);
    two.assertRoom(600);
  });
});

describe('a caller that does not read its answers', () => {
  it('is cut off on all connections together, while others are served', async () => {
    const large = answers('x'.repeat(8 * MIB));
    const config = { limits: { bytes_per_principal: 12 * MIB } };
    await using gateway = await openTestGateway({ large: { run: large } }, { config });
    const { port } = new URL(gateway.url);
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'large.work', arguments: {} },
    });
    const sockets = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const socket = connectTo(Number(port), '127.0.0.1').pause();
        socket.on('error', () => {});
        await once(socket, 'connect');
        socket.write(
          `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${KEY}\r\n` +
            'content-type: application/json\r\naccept: application/json, text/event-stream\r\n' +
            `content-length: ${body.length}\r\n\r\n${body}`,
        );
        return socket;
      }),
    );
    const cut = async () => {
      const text = await (await fetch(`${gateway.url}/metrics`)).text();
      return Number(/stream_dropped_total\{reason="bytes_per_principal"\} (\d+)/.exec(text)?.[1]);
    };
    await expect.poll(cut, { timeout: 20_000 }).toBeGreaterThanOrEqual(4);
    await using other = await connect(gateway.url, 'auto', {
      authorization: `Bearer ${STRANGER_KEY}`,
    });
    const { result } = await call(other, 'large.work', {}, { events: false });
    expect(result.isError).toBeFalsy();
    for (const socket of sockets) socket.destroy();
  });
});
