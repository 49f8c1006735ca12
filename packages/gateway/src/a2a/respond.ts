// Answers of the A2A bindings: one document, or a stream that begins when its first item is there, so
// that what fails before is an answer of its own.

import type { ServerResponse } from 'node:http';
import { createSseWriter, SSE_HEADERS } from '@starloom/wire';

const KEEP_ALIVE_MS = 15_000;

export interface Document {
  readonly status: number;
  readonly contentType: string;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export function respond(
  response: ServerResponse,
  { status, contentType, body, headers }: Document,
): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(body);
  const length = { 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, { 'content-type': contentType, ...headers, ...length }).end(text);
}

/** Throws what the stream throws before its first item; a later failure is its last event. */
export async function respondStream(
  response: ServerResponse,
  items: AsyncGenerator<unknown, void>,
  toFailure: (error: unknown) => unknown,
): Promise<void> {
  let next = await items.next();
  response.writeHead(200, SSE_HEADERS);
  await using stream = createSseWriter(response, { keepAliveMs: KEEP_ALIVE_MS });
  try {
    for (; !next.done; next = await items.next()) {
      await stream.send({ data: JSON.stringify(next.value) });
    }
  } catch (error) {
    if (response.destroyed) return;
    await stream.send({ event: 'error', data: JSON.stringify(toFailure(error)) }).catch(() => {});
  } finally {
    await items.return();
  }
}
