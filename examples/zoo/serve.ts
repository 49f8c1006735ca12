// An agent of the zoo that is reached over HTTP: on a free port, which it prints in a line of JSON.

import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The program ends when the one that started it ends, however it does. */
export async function serve(listenerAt: (url: string) => RequestListener): Promise<void> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.on('request', listenerAt(url));
  process.stdin.resume().on('end', () => process.exit());
  console.log(JSON.stringify({ url }));
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export function beginStream(response: ServerResponse, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
}

export function sendEvent(response: ServerResponse, data: object, event?: string): void {
  const name = event === undefined ? '' : `event: ${event}\n`;
  response.write(`${name}data: ${JSON.stringify(data)}\n\n`);
}
