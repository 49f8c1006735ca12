// The coordination plane over HTTP, WebSocket and channels of messages. A plain POST is one message
// and its answer; a POST that accepts an event stream, a WebSocket and a channel are connections on
// which things are pushed for as long as they last.

import { type Coordination, describeOpenApi, SERVICE_PATHS } from '@starloom/coordination';
import { FabricError, type Log } from '@starloom/core';
import { createSseWriter, SSE_HEADERS } from '@starloom/wire';
import { parseValue } from '../transports/frame.ts';
import type { HttpExchange, HttpOptions, Upgrade } from '../transports/http.ts';
import type { WebSocketTransport } from '../transports/websocket.ts';
import { serveRpcChannel } from './channel.ts';

export interface RpcEndpointOptions {
  readonly coordination: Coordination;
  readonly webSocket: WebSocketTransport;
  readonly log: Log;
}

const KEEP_ALIVE_MS = 15_000;

export class RpcEndpoint {
  readonly #options: RpcEndpointOptions;
  readonly #open = new Set<() => Promise<void>>();

  constructor(options: RpcEndpointOptions) {
    this.#options = options;
  }

  get routes(): HttpOptions['routes'] {
    const serve = (exchange: HttpExchange) => this.#serveHttp(exchange);
    const route = { parse: parseValue, serve, dialect: 'details' } as const;
    const paths = ['/rpc', ...Object.values(SERVICE_PATHS)];
    const served = Object.fromEntries(paths.map((path) => [path, route]));
    return { ...served, '/rpc/openapi.json': { ...route, serve: serveOpenApi } };
  }

  get upgrades(): HttpOptions['upgrades'] {
    return { '/rpc/ws': (upgrade) => this.#serveWebSocket(upgrade) };
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#open, (close) => close()));
  }

  #serveWebSocket(upgrade: Upgrade): void {
    const { webSocket, coordination, log } = this.#options;
    const { principal } = upgrade;
    webSocket.accept(upgrade, async (channel) => {
      const close = () => channel.close();
      this.#open.add(close);
      await serveRpcChannel(channel, { coordination, principal, log });
      this.#open.delete(close);
    });
  }

  async #serveHttp(exchange: HttpExchange): Promise<void> {
    const { request, response, principal, body } = exchange;
    if (request.method !== 'POST') {
      throw notAllowed('Coordination takes POST, or a WebSocket at /rpc/ws');
    }
    if (request.headers.accept?.includes('text/event-stream')) return this.#stream(exchange);
    const peer = this.#options.coordination.connect({ principal });
    try {
      const answer = await peer.handle(body);
      if (answer === undefined) response.writeHead(204).end();
      else {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      }
    } finally {
      await peer.close();
    }
  }

  /** The answer as the first event, then what is pushed, until the client leaves. */
  async #stream({ response, principal, body }: HttpExchange): Promise<void> {
    response.writeHead(200, SSE_HEADERS);
    await using stream = createSseWriter(response, { keepAliveMs: KEEP_ALIVE_MS });
    const send = (data: string) => stream.send({ event: 'message', data });
    const answered = Promise.withResolvers<void>();
    const peer = this.#options.coordination.connect({
      principal,
      push: async (notification) => {
        await answered.promise;
        await send(notification);
      },
    });
    const close = () => stream.close();
    this.#open.add(close);
    try {
      const answer = await peer.handle(body);
      if (answer !== undefined) await send(JSON.stringify(answer));
      answered.resolve();
      if (isSubscribed(body, answer)) await stream.closed;
    } finally {
      this.#open.delete(close);
      answered.resolve();
      await peer.close();
    }
  }
}

let openApi: string | undefined;

/** With the same keys as everything here; the documentation has a copy for everybody. */
async function serveOpenApi({ request, response }: HttpExchange): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    throw notAllowed('It can be read only');
  openApi ??= JSON.stringify(describeOpenApi());
  response.writeHead(200, { 'content-type': 'application/json' }).end(openApi);
}

function notAllowed(message: string): FabricError {
  return new FabricError('BAD_INPUT', message, {
    details: { reason: 'method_not_allowed', http_status: 405 },
  });
}

/** Something was subscribed to: the stream stays open for what is pushed. */
function isSubscribed(body: unknown, answer: unknown): boolean {
  const asked = [body].flat().some((message) => methodOf(message) === SUBSCRIBE);
  return asked && [answer].flat().some((each) => isObject(each) && 'result' in each);
}

const SUBSCRIBE = 'context_coordinator.subscribe';

function methodOf(message: unknown): unknown {
  return isObject(message) && 'method' in message ? message.method : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
