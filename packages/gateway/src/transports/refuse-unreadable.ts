// What is not HTTP, or does not come in time. Node would answer in a bare line, and answer clients that
// have left: thousands that break off their uploads would cost more than those that are served.

import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { FabricError } from '@starloom/core';
import { toRefusal } from '@starloom/wire';

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
  const isLate = http_status === 408;
  const refusal = new FabricError(
    'BAD_INPUT',
    isLate ? 'The request did not come in time' : 'This is not a request in HTTP/1.1',
    { details: { reason: isLate ? 'request_timeout' : 'not_http', http_status } },
  );
  const { headers, body } = toRefusal(refusal, null);
  const lines = {
    ...headers,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${http_status} ${STATUS_CODES[http_status]}\r\n${head.join('')}\r\n${body}`;
}
