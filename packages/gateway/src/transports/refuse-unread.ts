// A refusal while the client is still sending. To close at once would reset the connection under
// the answer, so what comes is thrown away for a while; whoever sends on and on is cut off.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Refusal } from '@starloom/wire';

const DISCARDED_BYTES = 32 * 1024 * 1024;
const DISCARDED_MS = 5_000;
/** From a client that showed no valid key. */
const UNKNOWN_BYTES = 1024 * 1024;
const UNAUTHORIZED = 401;

/** Answers now, and ends the connection when the client has stopped. */
export function refuseUnread(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Refusal,
): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const length = { 'content-length': Buffer.byteLength(body) };
  response.writeHead(status, { ...headers, ...length, connection: 'close' }).write(body);
  const limit = status === UNAUTHORIZED ? UNKNOWN_BYTES : DISCARDED_BYTES;
  const cut = () => response.destroy();
  const patience = setTimeout(cut, DISCARDED_MS);
  let discarded = 0;
  request.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > limit) cut();
  });
  request.once('end', () => response.end());
  response.once('close', () => clearTimeout(patience));
  request.resume();
}
