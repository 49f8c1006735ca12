// A refusal while the client is still sending. To close at once would reset the connection under
// the answer, so what comes is thrown away for a while. A client that sends on and on is cut off,
// and so are all clients beyond the first few at a time: what is thrown away has to be read first.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Refusal, streamTurns } from '@starloom/wire';
import { freeNow } from './free-now.ts';
import { pauseUntil, waitsToSend } from './read-body.ts';

const DISCARDED_BYTES = 32 * 1024 * 1024;
const DISCARDED_MS = 5_000;
/** From a client that showed no valid key. */
const UNKNOWN_BYTES = 1024 * 1024;
const MOST_AT_ONCE = 16;

export class UnreadRefusals {
  #discarding = 0;

  /** Answers now, and ends the connection when the client has stopped. */
  refuse(
    request: IncomingMessage,
    response: ServerResponse,
    { status, headers, body }: Refusal,
    isKnown: boolean,
  ): void {
    if (response.headersSent || response.destroyed) return void response.destroy();
    const length = { 'content-length': Buffer.byteLength(body) };
    response.writeHead(status, { ...headers, ...length, connection: 'close' });
    // It was not told to send, so nothing is on its way that would reset the connection.
    if (waitsToSend(request)) return void response.end(body);
    if (this.#discarding >= MOST_AT_ONCE) {
      response.end(body, () => response.destroy());
      return;
    }
    response.write(body);
    this.#discard(request, response, isKnown ? DISCARDED_BYTES : UNKNOWN_BYTES);
  }

  #discard(request: IncomingMessage, response: ServerResponse, limit: number): void {
    const cut = () => response.destroy();
    const patience = setTimeout(cut, DISCARDED_MS);
    let discarded = 0;
    this.#discarding += 1;
    request.on('data', (chunk: Buffer) => {
      discarded += chunk.length;
      freeNow(chunk);
      if (discarded > limit) cut();
      else pauseUntil(streamTurns.enter(), request);
    });
    request.once('end', () => response.end());
    response.once('close', () => {
      clearTimeout(patience);
      this.#discarding -= 1;
    });
    request.resume();
  }
}
