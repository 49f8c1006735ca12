import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { openCoordinationClient, webSocketConnect } from '../src/client/index.ts';
import { World } from './support/world.ts';

/** A gateway as small as can be: one key, one path. */
async function serve(world: World) {
  const http = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  http.on('upgrade', (request, socket, head) => {
    if (request.headers.authorization !== 'Bearer secret') {
      socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const peer = world.coordination.connect({
        principal: { id: 'ci' },
        push: (notification) =>
          new Promise((resolve, reject) => {
            webSocket.send(notification, (error) => (error ? reject(error) : resolve()));
          }),
      });
      webSocket.on('message', (data) => {
        void peer.handleText(data.toString()).then((answer) => {
          if (answer !== undefined) webSocket.send(answer);
        });
      });
      webSocket.once('close', () => void peer.close());
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  return {
    url: `ws://127.0.0.1:${port}/rpc/ws`,
    cut: () => {
      for (const client of sockets.clients) client.terminate();
    },
    close: async () => {
      for (const client of sockets.clients) client.terminate();
      http.close();
      await once(http, 'close');
    },
  };
}

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

it('says that the key is refused, or that nobody is there', async () => {
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
