// Between Node's HTTP and the fetch-shaped MCP handler of the SDK. The parsed body is handed over as
// it is; the response is written with back-pressure, and the connection knows when there is room.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthInfo, McpHttpHandler } from '@modelcontextprotocol/server';
import type { FabricError } from '@starloom/core';
import { toLimitHeaders } from '@starloom/wire';

const OK = 200;

/** Serves one exchange; `authInfo` reaches the server factory. */
export async function serveFetch(
  handler: McpHttpHandler,
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
  authInfo: AuthInfo,
): Promise<void> {
  const gone = new AbortController();
  const onClose = () => gone.abort();
  response.once('close', onClose);
  const web = new Request(`http://gateway${request.url}`, {
    method: request.method ?? 'GET',
    headers: toHeaders(request),
    signal: gone.signal,
  });
  const answer = await handler.fetch(web, {
    authInfo,
    ...(body !== undefined && { parsedBody: body }),
  });
  const headers = Object.fromEntries(answer.headers);
  if (isStream(headers)) await writeStream(answer, headers, response, gone.signal);
  else {
    const bytes = Buffer.from(await answer.arrayBuffer());
    const status = response.statusCode === OK ? answer.status : response.statusCode;
    response.writeHead(status, { ...headers, 'content-length': bytes.length }).end(bytes);
  }
  response.off('close', onClose);
}

/** The answer that is written later says when to ask again; a stream that has begun cannot. */
export function markLimited(response: ServerResponse, error: FabricError): void {
  if (response.headersSent) return;
  response.statusCode = error.row.http;
  for (const [name, value] of Object.entries(toLimitHeaders(error))) {
    response.setHeader(name, value);
  }
}

/** One write per chunk; the next one waits until there is room. */
async function writeStream(
  answer: Response,
  headers: Record<string, string>,
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  response.writeHead(answer.status, headers);
  for await (const chunk of answer.body ?? []) {
    if (gone.aborted) break;
    if (!response.write(chunk)) await room(response);
  }
  response.end();
}

function isStream(headers: Record<string, string>): boolean {
  return headers['content-type']?.startsWith('text/event-stream') ?? false;
}

/** Resolves when the response can take more, or the client does not read it any more. */
export function room(response: ServerResponse): Promise<void> | undefined {
  if (!response.writableNeedDrain || response.destroyed) return undefined;
  return new Promise((resolve) => {
    const settle = () => {
      response.off('drain', settle);
      response.off('close', settle);
      resolve();
    };
    response.once('drain', settle);
    response.once('close', settle);
  });
}

function toHeaders({ headers }: IncomingMessage): Headers {
  const result = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) result.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return result;
}
