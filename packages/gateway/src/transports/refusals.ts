// How requests are refused. While the client is still sending, to close at once would reset the connection under
// the answer, so what comes is thrown away for a while. A client that sends on and on is cut off,
// and so are all clients beyond the first few at a time: what is thrown away has to be read first.

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { FabricError } from '@starloom/core';
import type { RequestHeaders } from '@starloom/identity';
import { type Refusal, streamTurns, toRefusal } from '@starloom/wire';
import type { ActiveRequest } from '../observe/observer.ts';
import { failure } from '../reasons.ts';
import { freeNow, pauseUntil, waitsToSend } from './read-request.ts';
import { type HttpOptions, routeAbove } from './routes.ts';

const DISCARDED_BYTES = 32 * 1024 * 1024;
const DISCARDED_MS = 5_000;
/** From a client that showed no valid key. */
const UNKNOWN_BYTES = 1024 * 1024;
const MAX_AT_ONCE = 16;

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
    if (this.#discarding >= MAX_AT_ONCE) {
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

/** Whatever is wrong with a request, where it was sent to decides how that is said. */
export function refusalOf(
  { url = '/' }: IncomingMessage,
  error: unknown,
  id: string | number | null,
  seen: ActiveRequest,
  { routes, resource }: Pick<HttpOptions, 'routes' | 'resource'>,
): Refusal {
  const target = URL.parse(url, 'http://gateway');
  const above = routeAbove(routes, target);
  if (above) seen.face = above.face;
  const { trace } = seen;
  const refusal =
    above?.toRefusal?.(error, id, target, trace) ??
    toRefusal(error, id, above?.dialect ?? 'payload', trace);
  const challenge = resource?.challenge(FabricError.from(error), target?.pathname ?? '');
  if (challenge === undefined) return refusal;
  return { ...refusal, headers: { ...refusal.headers, 'www-authenticate': challenge } };
}

export function refuseUpgrade(socket: Duplex, { status, headers, body }: Refusal): void {
  const lines = Object.entries({ ...headers, connection: 'close' }).map(([k, v]) => `${k}: ${v}`);
  socket.end(`HTTP/1.1 ${status} Refused\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}

/** The failure that an answer with this status shows. */
export function fromStatus(status: number): FabricError {
  const code = status >= 500 ? 'INTERNAL' : 'BAD_INPUT';
  return new FabricError(code, `Answered with ${status}`, { details: { http_status: status } });
}

/** Which kind of credential was shown, for the log. */
export function kindOf(headers: RequestHeaders, certificate: unknown): string {
  if (headers['x-agent-passport']) return 'passport';
  if (headers['x-agent-mandate']) return 'mandate';
  const [bearer] = [headers.authorization ?? []].flat();
  if (bearer === undefined) return certificate ? 'mtls' : 'psk';
  return /^Bearer +eyJ/i.test(bearer) ? 'oauth' : 'psk';
}

// What is not HTTP, or does not come in time. Node would answer in a bare line, and answer clients that
// have left: thousands that break off their uploads would cost more than those that are served.

/** The client broke off in the middle of a request. */
const LEFT = new Set(['HPE_INVALID_EOF_STATE', 'ECONNRESET', 'EPIPE']);

const STATUS_OF: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** For the event `clientError` of a server. */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  const { code = '' } = error;
  // In the middle of another answer this one would be read as a part of it.
  const hasAnswered = 'bytesWritten' in socket && socket.bytesWritten !== 0;
  if (!LEFT.has(code) && socket.writable && !hasAnswered) socket.write(toResponse(code));
  socket.destroy();
}

function toResponse(code: string): string {
  const http_status = STATUS_OF[code] ?? 400;
  const reason = http_status === 408 ? 'request_timeout' : 'not_http';
  const refusal = failure(reason, { http_status });
  const { headers, body } = toRefusal(refusal, null);
  const lines = {
    ...headers,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${http_status} ${STATUS_CODES[http_status]}\r\n${head.join('')}\r\n${body}`;
}
