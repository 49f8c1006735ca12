import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { toTextFrame } from '../src/transports/websocket.ts';

const LENGTHS = [0, 1, 125, 126, 127, 65_535, 65_536, 300_000];

it('writes frames of every length as a WebSocket client reads them, in order', async () => {
  const texts = LENGTHS.flatMap((length) => ['a'.repeat(length), `${'é'.repeat(length / 2)}🙂`]);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  server.on('upgrade', (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      for (const text of texts) {
        socket.write(toTextFrame(text));
        webSocket.ping();
      }
      webSocket.send('the end');
    });
  });
  const { port } = server.address() as AddressInfo;
  const client = new WebSocket(`ws://127.0.0.1:${port}`);
  const got: string[] = [];
  const whole = new Promise<void>((resolve, reject) => {
    client.on('error', reject);
    client.on('message', (data) => {
      if (data.toString() === 'the end') resolve();
      else got.push(data.toString());
    });
  });
  await whole;
  expect(got.map(({ length }) => length)).toEqual(texts.map(({ length }) => length));
  expect(got).toEqual(texts);
  client.terminate();
  server.close();
});
