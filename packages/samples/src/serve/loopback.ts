// Where the HTTP samples listen: on loopback only, and to no page of a browser, whatever name it
// gave this machine. The first line on stdout says where.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { localhostHostValidation, localhostOriginValidation } from '@modelcontextprotocol/node';

/** A message that a server received has both; Node's type also covers those of clients. */
type ServerRequest = IncomingMessage & { readonly method: string; readonly url: string };

type Handler = (request: ServerRequest, response: ServerResponse) => Promise<void>;

export async function serveLoopback(port: number, path: string, handle: Handler): Promise<void> {
  const isOurHost = localhostHostValidation();
  const isOurOrigin = localhostOriginValidation();
  const server = createServer((request, response) => {
    if (!isOurHost(request, response) || !isOurOrigin(request, response)) return;
    handle(request as ServerRequest, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  process.stdout.write(`${JSON.stringify({ event: 'ready', url })}\n`);
}
