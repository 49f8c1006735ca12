// What a Node process cannot be faster than at telling many: `ws` alone. Whatever is asked is granted
// unread, and an update goes to all other connections as it came. It knows nothing of sessions,
// locks, order or disks.

import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';
import { announce } from '../targets/announce.ts';

const UPDATE = Buffer.from('"context_coordinator.update"');
const ANSWER = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  result: { session_id: 'bare', lock_token: 1, cursor: 0 },
});

const server = createServer();
const sockets = new WebSocketServer({ server, perMessageDeflate: false });
sockets.on('connection', (socket) => {
  socket.on('message', (data: Buffer) => {
    if (data.includes(UPDATE)) {
      const text = data.toString();
      for (const other of sockets.clients) if (other !== socket) other.send(text);
    }
    socket.send(ANSWER);
  });
});

await announce(server);
