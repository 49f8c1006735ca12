import type { IncomingMessage } from 'node:http';
import { FabricError } from '@starloom/core';

const MAX_BODY_BYTES = 8_388_608;

/** The body as JSON, or BAD_INPUT. Other content types are refused: a web page can send those. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  if (!request.headers['content-type']?.startsWith('application/json')) {
    throw badBody('content_type', 'send application/json');
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The connection outlives a body that is refused, so that the refusal arrives.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw badBody('too_large', `send at most ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw badBody('invalid_json', 'send one JSON document');
  }
}

function badBody(reason: string, fix: string): FabricError {
  return new FabricError('BAD_INPUT', 'The body cannot be used', { details: { reason, fix } });
}
