// The agent as MCP server over HTTP, at /mcp. Without keys it serves this machine alone: beyond loopback
// an authenticator is demanded. Host and Origin are checked against pages of a browser.

import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server';
import { isLoopback } from '@starloom/core';
import type { Authenticator } from '@starloom/identity';
import { notifySubscribers } from '@starloom/mcp-client/server';
import { createBrowserGuard, sendRefusal, settlesWithin } from '@starloom/wire';
import { failure } from '../../reasons.ts';
import { createServer } from './create-server.ts';
import type { AgentMcpFace } from './mcp-face.ts';

export interface McpHttpOptions {
  readonly host?: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly authenticator?: Authenticator;
}

export interface HttpFace {
  readonly url: string;
  /** Takes nothing new, gives what runs a moment to end, and cuts the rest off. */
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 4_194_304;
const DRAIN_MS = 5_000;
const CUT_MS = 500;

/** BAD_INPUT when the port is taken, or when others could call without a key. */
export async function openMcpHttp(face: AgentMcpFace, options: McpHttpOptions): Promise<HttpFace> {
  const { host = '127.0.0.1', port, authenticator } = options;
  if (!authenticator && !isLoopback(host)) throw failure('no_keys', { host });
  const handler = createMcpHandler(
    ({ era, requestInfo }) =>
      createServer(face, {
        hasPush: era === 'modern',
        headers: Object.fromEntries(requestInfo?.headers ?? []),
      }),
    { onerror: (error) => face.log.debug({ error: error.message }, 'mcp') },
  );
  const serve = listener(handler, host, authenticator);
  const server = createHttpServer(
    { headersTimeout: 15_000, requestTimeout: 30_000 },
    (request, response) => void serve(request, response),
  );
  const stop = face.onListChanged((kind) => notifySubscribers(handler.notify, kind));
  const url = `${await listen(server, host, port)}/mcp`;
  return {
    url,
    async close() {
      stop();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      await settlesWithin(face.idle(), DRAIN_MS);
      await nextTurn();
      await handler.close();
      await settlesWithin(closed, CUT_MS);
      server.closeAllConnections();
      await closed;
    },
  };
}

function listener(handler: McpHttpHandler, host: string, authenticator?: Authenticator) {
  const serve = toNodeHandler(handler, { maxRequestBodySize: MAX_BODY_BYTES });
  const assertSameSite = createBrowserGuard(host);
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      assertSameSite(request.headers);
      if (request.url?.split('?')[0] !== '/mcp') throw failure('not_found/path');
      const { headersDistinct: headers, url } = request;
      const proven = authenticator?.authenticate({ transport: 'http', headers, url });
      if (proven instanceof Promise) await proven;
    } catch (error) {
      sendRefusal(response, error, null, 'payload');
      return;
    }
    void serve(request as Parameters<typeof serve>[0], response);
  };
}

/** Its URL, without a path. */
export async function listen(server: Server, host: string, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      const isBusy = 'code' in cause && cause.code === 'EADDRINUSE';
      const why = cause.message;
      reject(failure(isBusy ? 'port_busy' : 'cannot_listen', { host, port, why }, { cause }));
    });
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const actual = typeof address === 'object' && address ? address.port : port;
  return `http://${host.includes(':') ? `[${host}]` : host}:${actual}`;
}
