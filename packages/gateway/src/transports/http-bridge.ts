// Between Node's HTTP and the fetch-shaped MCP handler of the SDK. The parsed body is handed over as
// it is; the response is written with back-pressure, and the connection knows when there is room.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { McpHttpHandler } from '@modelcontextprotocol/server';

/** Serves one exchange; `extra` reaches the server factory as `authInfo.extra`. */
export async function serveFetch(
  handler: McpHttpHandler,
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
  extra: Record<string, unknown>,
): Promise<void> {
  const gone = new AbortController();
  const onClose = () => gone.abort();
  response.once('close', onClose);
  const web = new Request(`http://gateway${request.url}`, {
    method: request.method ?? 'GET',
    headers: toHeaders(request),
    signal: gone.signal,
  });
  const authInfo = { token: '', clientId: '', scopes: [], extra };
  const answer = await handler.fetch(web, {
    authInfo,
    ...(body !== undefined && { parsedBody: body }),
  });
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body) {
    for await (const chunk of answer.body) {
      if (gone.signal.aborted) break;
      if (!response.write(chunk)) await room(response);
    }
  }
  response.off('close', onClose);
  response.end();
}

/** Resolves when the response can take more, or nobody reads it any more. */
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
