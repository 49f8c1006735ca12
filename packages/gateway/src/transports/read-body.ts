import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { FabricError } from '@starloom/core';
import type { BodyShare } from './body-budget.ts';

/** The body as text, bounded while it is read, strict UTF-8. Rejects when the client leaves. */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  share: BodyShare,
): Promise<string> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  return decode(await readBytes(request, limit, share));
}

/** Did the client leave before its request was whole? */
export function isGone(error: unknown): boolean {
  return FabricError.is(error) && error.details.reason === CLIENT_GONE;
}

/** By its events: the iterator of a stream costs more than the rest of a request's checks. */
function readBytes(request: IncomingMessage, limit: number, share: BodyShare): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      try {
        if (length > limit) throw tooLarge(limit);
        share.take(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        request.off('data', onData).pause();
        reject(error);
      }
    };
    request.on('data', onData);
    request.once('end', () => {
      const [only] = chunks;
      resolve(chunks.length === 1 && only ? only : Buffer.concat(chunks));
    });
    request.once('error', () => reject(gone()));
    request.once('close', () => {
      if (!request.complete) reject(gone());
    });
  });
}

const CLIENT_GONE = 'client_gone';
const BYTE_ORDER_MARK = '\ufeff';

function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) {
    throw new FabricError('BAD_INPUT', 'The body is not valid UTF-8', {
      details: { reason: 'invalid_utf8', rpc_code: -32700 },
    });
  }
  const text = bytes.toString('utf8');
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

function gone(): FabricError {
  return new FabricError('CANCELLED', 'The client left before its request was whole', {
    details: { reason: CLIENT_GONE },
  });
}

function tooLarge(limit: number): FabricError {
  return new FabricError('BAD_INPUT', `The body is larger than ${limit} bytes`, {
    details: { reason: 'body_too_large', limit, http_status: 413, fix: 'raise limits.body_bytes' },
  });
}
