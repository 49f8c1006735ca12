import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { World } from '../../coordination/test/support/world.ts';
import { openCoordinationClient, webSocketConnect } from '../src/index.ts';
import { serve } from './support/small-gateway.ts';

const backoffMs = { least: 1, most: 20 };

it('talks over a WebSocket, and goes on after each cut', async () => {
  await using world = new World();
  const server = await serve(world);
  const connect = webSocketConnect({ url: server.url, key: 'secret' });
  const [writer, reader] = [
    await openCoordinationClient({ connect, agentId: 'writer', backoffMs }),
    await openCoordinationClient({ connect, agentId: 'reader', backoffMs }),
  ];
  const { session_id } = await writer.sessions.create({ mode: 'cas' });
  await reader.sessions.join({ session_id });
  const seen: unknown[] = [];
  await reader.subscribe({ session_id }, { update: ({ update }) => void seen.push(update.n) });
  for (let n = 1; n <= 30; n += 1) {
    await writer.context.update({ session_id, update: { n } });
    if (n % 7 === 0) server.cut();
  }
  await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(30);
  expect(seen).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
  await writer.close();
  await reader.close();
  await server.close();
});

it('says that the key is refused, or that no gateway answers', async () => {
  await using world = new World();
  const server = await serve(world);
  const open = (key: string) =>
    openCoordinationClient({
      connect: webSocketConnect({ url: server.url, key }),
      agentId: 'a',
      backoffMs,
    });
  await expect(open('wrong')).rejects.toMatchObject({
    code: 'AUTH_DENIED',
    details: { status: 401 },
  });
  await server.close();
  await expect(open('secret')).rejects.toMatchObject({ code: 'AGENT_OFFLINE' });
});

it.each([
  [403, 'AUTH_DENIED', /key/],
  [404, 'AGENT_OFFLINE', /address/],
  [429, 'RATE_LIMITED', /later/],
  [503, 'OVERLOADED', /later/],
])('says what to do when the gateway answers %i', async (status, code, fix) => {
  const server = createServer();
  server.on('upgrade', (_, socket) => {
    socket.end(`HTTP/1.1 ${status} No\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connect = webSocketConnect({ url: `ws://127.0.0.1:${port}/rpc/ws`, key: 'secret' });
  await expect(openCoordinationClient({ connect, agentId: 'a' })).rejects.toMatchObject({
    code,
    details: { status, retry_after_ms: 5_000, fix: expect.stringMatching(fix) },
  });
  server.close();
});

it.each([
  ['an address', { url: 'nonsense' }],
  ['a key', { url: 'ws://127.0.0.1:1/rpc/ws', key: 'two\nlines' }],
])('says that %s cannot be used, and does not show the key', async (_, options) => {
  const connect = webSocketConnect(options);
  const opening = openCoordinationClient({ connect, agentId: 'a' });
  await expect(opening).rejects.toMatchObject({
    code: 'BAD_INPUT',
    details: { url: options.url, fix: expect.any(String) },
  });
  await expect(opening).rejects.not.toThrow(/lines/);
});
