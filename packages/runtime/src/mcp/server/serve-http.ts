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
import { FabricError, isLoopback } from '@starloom/core';
import type { Authenticator } from '@starloom/identity';
import { createBrowserGuard, sendRefusal, settlesWithin } from '@starloom/wire';
import { createServer, tellSubscribers } from './create-server.ts';
import type { AgentMcpFace } from './mcp-face.ts';

export interface McpHttpOptions {
  readonly host?: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly authenticator?: Authenticator;
}

export interface HttpFace {
  /** With /mcp. */
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
  if (!authenticator && !isLoopback(host)) throw needsKeys(host);
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
  const stop = face.onListChanged((kind) => tellSubscribers(handler.notify, kind));
  const url = await listen(server, host, port);
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
      if (request.url?.split('?')[0] !== '/mcp') throw notFound();
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

async function listen(server: Server, host: string, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(cannotListen(host, port, cause)));
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const actual = typeof address === 'object' && address ? address.port : port;
  return `http://${host.includes(':') ? `[${host}]` : host}:${actual}/mcp`;
}

function notFound(): FabricError {
  return new FabricError('BAD_INPUT', 'There is nothing here', {
    details: { reason: 'not_found', http_status: 404, fix: 'MCP is at /mcp' },
  });
}

function needsKeys(host: string): FabricError {
  return new FabricError('BAD_INPUT', 'Beyond this machine callers must show a key', {
    details: { reason: 'no_keys', host, fix: 'give it a key, or listen on 127.0.0.1' },
  });
}

function cannotListen(host: string, port: number, cause: Error): FabricError {
  const isBusy = 'code' in cause && cause.code === 'EADDRINUSE';
  const why = isBusy ? 'the port is taken' : cause.message;
  return new FabricError('BAD_INPUT', `Cannot listen on ${host}:${port}: ${why}`, {
    details: { reason: isBusy ? 'port_busy' : 'cannot_listen', fix: 'choose another port' },
    cause,
  });
}
