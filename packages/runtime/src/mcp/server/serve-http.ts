// The agent as MCP server over HTTP, at /mcp. Without keys it serves this machine alone: beyond loopback
// an authenticator is demanded. Host and Origin are checked against pages of a browser.

import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { hostHeaderValidation, originValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server';
import { createTrace, FabricError } from '@starloom/core';
import type { Authenticator } from '@starloom/identity';
import { createServer } from './create-server.ts';
import { tellSubscribers } from './list-changes.ts';
import type { McpFace } from './mcp-face.ts';

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

const LOOPBACK = ['127.0.0.1', 'localhost', '::1'];
const MAX_BODY_BYTES = 4_194_304;
const DRAIN_MS = 5_000;
const CUT_MS = 500;

/** BAD_INPUT when the port is taken, or when others could call without a key. */
export async function openMcpHttp(face: McpFace, options: McpHttpOptions): Promise<HttpFace> {
  const { host = '127.0.0.1', port, authenticator } = options;
  if (!authenticator && !LOOPBACK.includes(host)) throw needsKeys(host);
  const handler = createMcpHandler(
    ({ era, requestInfo }) =>
      createServer(face, {
        hasPush: era === 'modern',
        headers: Object.fromEntries(requestInfo?.headers ?? []),
      }),
    { onerror: (error) => face.log.debug({ error: error.message }, 'mcp') },
  );
  const server = createHttpServer(
    { headersTimeout: 15_000, requestTimeout: 30_000 },
    listener(handler, host, authenticator),
  );
  const stop = face.onListChanged((kind) => tellSubscribers(handler.notify, kind));
  const url = await listen(server, host, port);
  return {
    url,
    async close() {
      stop();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      await within(face.idle(), DRAIN_MS);
      await nextTurn();
      await handler.close();
      await within(closed, CUT_MS);
      server.closeAllConnections();
      await closed;
    },
  };
}

async function within(promise: Promise<void>, ms: number): Promise<void> {
  const timer = new AbortController();
  const passed = delay(ms, undefined, { signal: timer.signal }).catch(() => {});
  await Promise.race([promise, passed]);
  timer.abort();
}

function listener(handler: McpHttpHandler, host: string, authenticator?: Authenticator) {
  const serve = toNodeHandler(handler, { maxRequestBodySize: MAX_BODY_BYTES });
  const isOurHost = hostHeaderValidation(namesOf(host));
  const isOurOrigin = originValidation(namesOf(host));
  return (request: IncomingMessage, response: ServerResponse): void => {
    if (isLoopback(host) && !isOurHost(request, response)) return;
    if (!isOurOrigin(request, response)) return;
    try {
      if (request.url?.split('?')[0] !== '/mcp') throw notFound();
      const { headersDistinct: headers, url } = request;
      authenticator?.authenticate({ transport: 'http', headers, url });
    } catch (error) {
      refuse(response, FabricError.from(error));
      return;
    }
    void serve(request as Parameters<typeof serve>[0], response);
  };
}

function isLoopback(host: string): boolean {
  return LOOPBACK.includes(host);
}

function namesOf(host: string): string[] {
  return [...LOOPBACK, host].map((name) => (name.includes(':') ? `[${name}]` : name));
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

function refuse(response: ServerResponse, error: FabricError): void {
  const { http_status: status = error.row.http, ...details } = error.details;
  const { message } = error;
  const data = new FabricError(error.code, message, { details }).toPayload(createTrace());
  const body = { jsonrpc: '2.0', id: null, error: { code: error.row.rpc, message, data } };
  const headers = {
    'content-type': 'application/json',
    ...(status === 401 && { 'www-authenticate': 'Bearer realm="starloom"' }),
  };
  response.writeHead(Number(status), headers).end(JSON.stringify(body));
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
