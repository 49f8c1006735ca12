// Takes the one request that a browser makes after a login (RFC 8252, 7.3): on the loopback address
// only. Requests without the secret of the login are refused and change nothing.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FabricError } from '@starloom/core';

const PATH = '/callback';
const REQUEST_MS = 10_000;

export interface RedirectAnswer {
  readonly params: URLSearchParams;
  /** Shows the person a line of text. */
  reply(status: number, text: string): Promise<void>;
}

export class RedirectListener implements AsyncDisposable {
  /** Before and after `answer` nothing is expected. */
  #onRequest: typeof refuse = refuse;
  /** A name that leads here (DNS rebinding) is not ours. */
  #host = '';
  readonly #server: Server = createServer(
    { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, maxHeaderSize: 16_384 },
    (request, response) => this.#onRequest(request, response),
  );

  /** The address that the authorization server sends the browser to. */
  async listen(port: number): Promise<string> {
    this.#server.listen(port, '127.0.0.1');
    try {
      await once(this.#server, 'listening');
    } catch (cause) {
      throw portTaken(port, cause);
    }
    this.#host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return `http://${this.#host}${PATH}`;
  }

  /** The first request that `isOurs` accepts; TIMEOUT when none comes. */
  async answer(
    isOurs: (params: URLSearchParams) => boolean,
    timeoutMs: number,
  ): Promise<RedirectAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<RedirectAnswer>();
    this.#onRequest = (request, response) => {
      const url = new URL(request.url ?? '/', 'http://127.0.0.1');
      const params = url.searchParams;
      const isHere = request.headers.host === this.#host;
      if (!isHere || request.method !== 'GET' || url.pathname !== PATH) refuse(request, response);
      else if (hasDoubled(params)) write(response, 400, 'A parameter came twice.');
      else if (!isOurs(params)) write(response, 400, 'This is not the login asked for.');
      else resolve({ params, reply: (status, text) => finish(response, status, text) });
    };
    const timer = setTimeout(() => reject(tooLate(timeoutMs)), timeoutMs);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#onRequest = refuse;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

/** RFC 6749, 3.1: a parameter is not included more than once. */
function hasDoubled(params: URLSearchParams): boolean {
  const names = [...params.keys()];
  return new Set(names).size < names.length;
}

const HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

function refuse(_: IncomingMessage, response: ServerResponse): void {
  write(response, 404, 'Nothing here.');
}

function write(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, HEADERS).end(`${text}\n`);
}

async function finish(response: ServerResponse, status: number, text: string): Promise<void> {
  if (response.destroyed) return;
  const closed = once(response, 'close');
  write(response, status, text);
  await closed;
}

function portTaken(port: number, cause: unknown): FabricError {
  return new FabricError('BAD_INPUT', `Port ${port} of the redirect address is taken`, {
    details: { reason: 'port_taken', port, fix: 'end the program that uses it, or change it' },
    cause,
  });
}

function tooLate(timeoutMs: number): FabricError {
  return new FabricError('TIMEOUT', 'No person has logged in in time', {
    details: { reason: 'login_timeout', timeout_ms: timeoutMs, fix: 'begin again' },
  });
}
