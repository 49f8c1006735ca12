// The coordination plane over HTTP, WebSocket and channels of messages. A plain POST is one message
// and its answer; a POST that accepts an event stream, a WebSocket and a channel are connections on
// which things are pushed for as long as they last.

import { FabricError, type Log } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import { createSseWriter, SSE_HEADERS } from '@starloom/wire';
import { parseValue } from '../transports/frame.ts';
import type { HttpExchange, HttpOptions, Upgrade } from '../transports/http.ts';
import { toRefusal } from '../transports/http-errors.ts';
import type { MessageChannel } from '../transports/message-transport.ts';
import type { WebSocketTransport } from '../transports/websocket.ts';

/** What the gateway needs of the coordination plane. */
export interface CoordinationPlane {
  /** Paths of the services, as `mcp.discover` names them. */
  readonly paths: readonly string[];
  connect(connection: {
    readonly principal: { readonly id: string };
    readonly push?: (method: string, params: Record<string, unknown>) => Promise<void> | void;
  }): RpcPeer;
}

export interface RpcPeer {
  /** The answer to a message or a batch; `undefined` when there is none to give. */
  handle(message: unknown): Promise<unknown>;
  /** Has it subscriptions that a stream should be kept open for? */
  readonly isSubscribed: boolean;
  close(): Promise<void>;
}

export interface RpcEndpointOptions {
  readonly coordination: CoordinationPlane;
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
    const paths = ['/rpc', ...this.#options.coordination.paths];
    return Object.fromEntries(paths.map((path) => [path, route]));
  }

  get upgrades(): HttpOptions['upgrades'] {
    return { '/rpc/ws': (upgrade) => this.#serveWebSocket(upgrade) };
  }

  /** Serves one client over a channel of messages; resolves when it is gone. */
  async serveChannel(channel: MessageChannel, principal: Principal): Promise<void> {
    const { coordination, log } = this.#options;
    const write = (message: unknown) => channel.write(JSON.stringify(message));
    const push = (method: string, params: Record<string, unknown>) =>
      write({ jsonrpc: '2.0', method, params });
    const peer = coordination.connect({ principal, push });
    const gone = Promise.withResolvers<void>();
    const receive = async (text: string) => {
      const answer = await answerTo(peer, text);
      if (answer !== undefined) await write(answer);
    };
    channel.open(
      (text) =>
        void receive(text).catch((error: unknown) => {
          log.debug({ error: FabricError.from(error) }, 'an answer could not be sent');
        }),
      gone.resolve,
    );
    const close = () => channel.close();
    this.#open.add(close);
    await gone.promise;
    this.#open.delete(close);
    await peer.close();
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#open, (close) => close()));
  }

  #serveWebSocket(upgrade: Upgrade): void {
    this.#options.webSocket.accept(upgrade, (channel) => {
      void this.serveChannel(channel, upgrade.principal);
    });
  }

  async #serveHttp(exchange: HttpExchange): Promise<void> {
    const { request, response, principal, body } = exchange;
    if (request.method !== 'POST') {
      throw new FabricError('BAD_INPUT', 'Coordination takes POST, or a WebSocket at /rpc/ws', {
        details: { reason: 'method_not_allowed', http_status: 405 },
      });
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
    const send = (message: unknown) =>
      stream.send({ event: 'message', data: JSON.stringify(message) });
    const answered = Promise.withResolvers<void>();
    const peer = this.#options.coordination.connect({
      principal,
      push: async (method, params) => {
        await answered.promise;
        await send({ jsonrpc: '2.0', method, params });
      },
    });
    const close = () => stream.close();
    this.#open.add(close);
    try {
      const answer = await peer.handle(body);
      if (answer !== undefined) await send(answer);
      answered.resolve();
      if (peer.isSubscribed) await stream.closed;
    } finally {
      this.#open.delete(close);
      answered.resolve();
      await peer.close();
    }
  }
}

async function answerTo(peer: RpcPeer, text: string): Promise<unknown> {
  try {
    return await peer.handle(parseValue(text));
  } catch (error) {
    return JSON.parse(toRefusal(error, null, 'details').body);
  }
}
