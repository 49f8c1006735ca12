// How an agent listens over HTTP, whatever it serves there. Without keys it serves this machine alone: beyond
// loopback an authenticator is demanded. Host and Origin are checked against pages of a browser.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isLoopback } from '@starloom/core';
import type { Authenticator } from '@starloom/identity';
import { createBrowserGuard, settlesWithin } from '@starloom/wire';
import { failure } from './reasons.ts';

export interface HttpFaceOptions {
  readonly host?: string | undefined;
  /** 0 picks a free one. */
  readonly port: number;
  /** Absent: callers of this machine need no key. */
  readonly authenticator?: Authenticator | undefined;
}

export interface HttpFace {
  readonly url: string;
  /** Takes nothing new, gives what runs a moment to end, and cuts the rest off. */
  close(): Promise<void>;
}

export interface HttpService {
  /** Under which others reach the agent, beside the host that it listens on. */
  readonly names?: readonly string[];
  /** Answers a request; `assertSameSite` throws for one that a page of a browser sent. */
  serve(request: IncomingMessage, response: ServerResponse, assertSameSite: () => void): unknown;
  /** Waits for what runs, as long as it may take. Connections are cut afterwards. */
  drain(): Promise<void>;
}

const CUT_MS = 500;

/** BAD_INPUT when the port is taken, or when others could call without a key. */
export async function openHttpFace(
  { host = '127.0.0.1', port, authenticator }: HttpFaceOptions,
  { serve, drain, names = [] }: HttpService,
): Promise<HttpFace> {
  if (!authenticator && !isLoopback(host)) throw failure('no_keys', { host });
  const guard = createBrowserGuard(host, names);
  const server = createServer(
    { headersTimeout: 15_000, requestTimeout: 30_000 },
    (request, response) => void serve(request, response, () => guard(request.headers)),
  );
  return {
    url: await listen(server, host, port),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      await drain();
      await settlesWithin(closed, CUT_MS);
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Its URL, without a path. */
async function listen(server: Server, host: string, port: number): Promise<string> {
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
