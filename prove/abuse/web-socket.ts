// A WebSocket by hand: the attacker writes frames without ever reading, which no client library does.

import { connect, type Socket } from 'node:net';

export interface RawSocket {
  readonly socket: Socket;
  /** Did the gateway take the upgrade? */
  readonly isOpen: boolean;
}

export function openRaw(url: string, path: string, key: string): Promise<RawSocket> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  const head = [
    `GET ${path} HTTP/1.1`,
    `Host: ${host}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Protocol: mcp',
    `Authorization: Bearer ${key}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  return new Promise((resolve) => {
    socket.once('data', (chunk) => {
      resolve({ socket, isOpen: chunk.toString('latin1').startsWith('HTTP/1.1 101') });
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve({ socket, isOpen: false }));
  });
}

const PING_BYTES = 125;

/** Many pings with the longest data, masked with zeros. */
export function pings(count: number): Buffer {
  const ping = Buffer.alloc(6 + PING_BYTES, 'p');
  ping.set([0x89, 0x80 | PING_BYTES, 0, 0, 0, 0]);
  return Buffer.concat(Array.from({ length: count }, () => ping));
}
