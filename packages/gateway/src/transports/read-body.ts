import type { IncomingMessage } from 'node:http';
import { FabricError } from '@starloom/core';

/** The body as text, bounded while it is read, strict UTF-8. */
export async function readBody(request: IncomingMessage, limit: number): Promise<string> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return decode(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new FabricError('BAD_INPUT', 'The body is not valid UTF-8', {
      details: { reason: 'invalid_utf8', rpc_code: -32700 },
      cause,
    });
  }
}

function tooLarge(limit: number): FabricError {
  return new FabricError('BAD_INPUT', `The body is larger than ${limit} bytes`, {
    details: { reason: 'body_too_large', limit, http_status: 413, fix: 'raise limits.body_bytes' },
  });
}
