import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import type { World } from '../../../coordination/test/support/world.ts';

/** A gateway as small as can be: one key, one path. */
export async function serve(world: World) {
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
        void peer.reply(JSON.parse(data.toString())).then((reply) => {
          if (reply !== undefined) webSocket.send(reply.toText());
        });
      });
      webSocket.once('close', () => void peer.close());
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  return {
    port,
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
