import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { LOCAL_PRINCIPAL } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { MessageChannel } from '../../src/index.ts';
import { WebSocketTransport } from '../../src/transports/websocket.ts';

const SELDOM_MS = 60_000;
const OFTEN_MS = 100;

/** One client of a bare transport, whose side of the connection the test has in hand. */
async function openPair(keepAliveMs: number) {
  const transport = new WebSocketTransport({ maxMessageBytes: 65_536, keepAliveMs });
  const server = createServer();
  const accepted = Promise.withResolvers<MessageChannel>();
  server.on('upgrade', (request, socket, head) => {
    const url = new URL('http://gateway/');
    const upgrade = { request, socket: socket as Socket, head, principal: LOCAL_PRINCIPAL, url };
    transport.accept(upgrade, accepted.resolve);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = new WebSocket(`ws://127.0.0.1:${port}`);
  await once(client, 'open');
  const channel = await accepted.promise;
  const seen = { texts: [] as string[], pings: 0, isGone: false };
  const room = Promise.withResolvers<void>();
  channel.open(
    (text) => {
      seen.texts.push(String(text));
      return text === 'hold' ? room.promise : undefined;
    },
    () => {
      seen.isGone = true;
    },
  );
  client.on('ping', () => {
    seen.pings += 1;
  });
  client.on('error', () => {});
  return {
    client,
    channel,
    transport,
    seen,
    makeRoom: room.resolve,
    async hold() {
      client.send('hold');
      await expect.poll(() => seen.texts).toContain('hold');
    },
    async [Symbol.asyncDispose]() {
      client.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** More than any buffer between the two takes. */
function writeMuch({ write }: MessageChannel): void {
  const text = 'x'.repeat(1_000_000);
  for (let count = 0; count < 40; count += 1) void Promise.resolve(write(text)).catch(() => {});
}

describe('a WebSocket from which nothing is read', () => {
  it('gives nothing until there is room, and lives though its pongs are not read', async () => {
    await using pair = await openPair(OFTEN_MS);
    await pair.hold();
    for (let count = 0; count < 1_000; count += 1) pair.client.send('x'.repeat(1_000));
    const { pings } = pair.seen;
    await expect.poll(() => pair.seen.pings).toBeGreaterThan(pings + 4);
    expect(pair.seen.isGone).toBe(false);
    expect(pair.seen.texts.length).toBeLessThan(500);
    pair.makeRoom();
    await expect.poll(() => pair.seen.texts).toHaveLength(1_001);
  });

  it('is ended when the other side takes nothing either', async () => {
    await using pair = await openPair(OFTEN_MS);
    await pair.hold();
    pair.client.pause();
    writeMuch(pair.channel);
    await expect.poll(() => pair.seen.isGone).toBe(true);
  });

  it('notices that a client is gone that never read', async () => {
    await using pair = await openPair(SELDOM_MS);
    await pair.hold();
    pair.client.pause();
    writeMuch(pair.channel);
    pair.client.terminate();
    await expect.poll(() => pair.seen.isGone).toBe(true);
  });

  it('is closed at a shutdown when the client says goodbye', async () => {
    await using pair = await openPair(SELDOM_MS);
    await pair.hold();
    const closed = pair.transport.close();
    const [code] = await once(pair.client, 'close');
    await closed;
    expect(code).toBe(1001);
    await expect.poll(() => pair.seen.isGone).toBe(true);
  });

  it('is closed at a shutdown without a goodbye when the client does not read', async () => {
    await using pair = await openPair(SELDOM_MS);
    await pair.hold();
    pair.client.pause();
    writeMuch(pair.channel);
    await pair.transport.close();
    await expect.poll(() => pair.seen.isGone).toBe(true);
  });
});
