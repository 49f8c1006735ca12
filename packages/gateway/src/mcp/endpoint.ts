// Everything that speaks MCP with clients: requests over HTTP, connections by WebSocket and stdio, and
// who among them is told when a list changes.

import {
  createMcpHandler,
  type McpHttpHandler,
  type McpRequestContext,
  type Server,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { FabricError, type Log, TOOL_NAME_STYLES, type ToolNameStyle } from '@starloom/core';
import { parseFrame } from '../transports/frame.ts';
import type { HttpExchange, HttpOptions, Upgrade } from '../transports/http.ts';
import { room, serveFetch } from '../transports/http-bridge.ts';
import { type MessageChannel, MessageTransport } from '../transports/message-transport.ts';
import type { WebSocketTransport } from '../transports/websocket.ts';
import type { Connection } from './connection.ts';
import { readLeanCall, serveLeanCall } from './lean-lane.ts';
import { type ListKind, tellConnected, tellSubscribers } from './list-changes.ts';
import { assertParamHeaders } from './param-headers.ts';
import { createServer, type McpFace } from './server-factory.ts';

export interface McpEndpointOptions {
  readonly face: McpFace;
  readonly toolNames: ToolNameStyle;
  readonly webSocket: WebSocketTransport;
  readonly log: Log;
}

interface Connected {
  listChanged(kind: ListKind): void;
  close(): Promise<void>;
}

export class McpEndpoint {
  readonly #options: McpEndpointOptions;
  readonly #handler: McpHttpHandler;
  readonly #connected = new Set<Connected>();

  constructor(options: McpEndpointOptions) {
    this.#options = options;
    this.#handler = createMcpHandler((context) => this.#createServer(context), {
      onerror: (error) => this.#noteError(error),
    });
  }

  get routes(): HttpOptions['routes'] {
    const serve = (exchange: HttpExchange) => this.#serveHttp(exchange);
    return { '/mcp': { parse: parseFrame, serve, dialect: 'payload' } };
  }

  get upgrades(): HttpOptions['upgrades'] {
    return { '/mcp/ws': (upgrade) => this.#serveWebSocket(upgrade) };
  }

  async #serveHttp({ request, response, principal, url, body }: HttpExchange): Promise<void> {
    const { face } = this.#options;
    assertParamHeaders(face.catalog, body, request.headers);
    const connection: Connection = {
      principal,
      transport: 'http',
      headers: request.headers,
      toolNames: this.#toolNames(url),
      room: () => room(response),
      cut: () => response.destroy(),
    };
    const lean = readLeanCall(body, request.headers, face);
    const serve = () =>
      lean
        ? serveLeanCall(lean, response, connection, face)
        : serveFetch(this.#handler, request, response, body, { connection });
    await (isSubscription(body) ? serve() : face.inFlight.during(serve));
  }

  #serveWebSocket(upgrade: Upgrade): void {
    const { request, principal, url } = upgrade;
    const toolNames = this.#toolNames(url);
    this.#options.webSocket.accept(upgrade, (channel) => {
      const { headers } = request;
      void this.serveChannel(channel, { principal, transport: 'ws', headers, toolNames });
    });
  }

  /** Serves one client over a channel of messages; resolves when it is gone. */
  async serveChannel(
    channel: MessageChannel,
    known: Omit<Connection, 'room' | 'cut'>,
  ): Promise<void> {
    const { face, log } = this.#options;
    const connection = { ...known, room: () => undefined, cut: () => void channel.close() };
    const gone = Promise.withResolvers<void>();
    const servers = new Set<Server>();
    const handle = serveStdio(
      ({ era }) => {
        const server = createServer(face, era, connection);
        servers.add(server);
        return server;
      },
      {
        transport: new MessageTransport(channel, log, gone.resolve),
        onerror: (error) => this.#noteError(error),
      },
    );
    const connected: Connected = {
      close: () => handle.close(),
      listChanged: (kind) => {
        for (const server of servers) tellConnected(server, kind, log);
      },
    };
    this.#connected.add(connected);
    await gone.promise;
    this.#connected.delete(connected);
  }

  listChanged(kind: ListKind): void {
    tellSubscribers(this.#handler.notify, kind);
    for (const connected of this.#connected) connected.listChanged(kind);
  }

  /** Ends subscriptions and connections; calls in flight are waited for by others. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#connected, (connected) => connected.close()));
    await this.#handler.close();
  }

  #createServer({ era, authInfo }: McpRequestContext): Server {
    return createServer(this.#options.face, era, authInfo?.extra?.connection as Connection);
  }

  #toolNames({ search, searchParams }: URL): ToolNameStyle {
    const asked = search === '' ? undefined : searchParams.get('tool_names');
    return TOOL_NAME_STYLES.find((style) => style === asked) ?? this.#options.toolNames;
  }

  #noteError(error: Error): void {
    this.#options.log.debug({ error: FabricError.from(error) }, 'mcp');
  }
}

/** It stays open for ever: a shutdown does not wait for it. */
function isSubscription(body: unknown): boolean {
  return (
    typeof body === 'object' &&
    body !== null &&
    'method' in body &&
    body.method === 'subscriptions/listen'
  );
}
