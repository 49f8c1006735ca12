import type { FetchLike } from '@modelcontextprotocol/client';
import { FabricError } from '@starloom/core';

/**
 * `fetch` whose answers stay within a size: a body in all, a stream of events between two blank lines.
 * A stream may thus go on for ever, and no single message fills the memory.
 */
export function boundedFetch(maxBytes: number): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    const body = response.body.pipeThrough(limit(maxBytes, isStream));
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  };
}

function limit(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const end = isStream ? lastBlankLine(chunk) : -1;
      bytes = end === -1 ? bytes + chunk.length : chunk.length - end;
      if (bytes > maxBytes) controller.error(tooLarge(maxBytes));
      else controller.enqueue(chunk);
    },
  });
}

/** Behind it, or -1. One that two chunks share is missed, which only counts more than there is. */
function lastBlankLine(chunk: Uint8Array): number {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\r\n\r\n'));
}

function tooLarge(limit: number): FabricError {
  return new FabricError('UPSTREAM_ERROR', `The MCP server sent more than ${limit} bytes`, {
    details: { reason: 'message_too_large', limit, fix: 'ask it for less' },
  });
}
