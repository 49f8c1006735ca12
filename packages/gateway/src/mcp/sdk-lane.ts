// Clients that the SDK serves: what the lean lane does not take, subscriptions, sessions of older clients,
// and connections by WebSocket and stdio. Loaded with the first of them.

import {
  createMcpHandler,
  type McpHttpHandler,
  type McpRequestContext,
  type Server,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { FabricError, isObject } from '@starloom/core';
import { type ListKind, notifySubscribers, sendListChanged } from '@starloom/mcp-client/server';
import { settlesWithin } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { serveFetch } from '../transports/http-bridge.ts';
import { type MessageChannel, pacedChannel } from '../transports/message-channel.ts';
import { MessageTransport } from '../transports/message-transport.ts';
import type { HttpRequest } from '../transports/routes.ts';
import { type Connection, toAuthInfo } from './connection.ts';
import type { McpEndpointOptions } from './endpoint.ts';
import { HttpSessions } from './http-sessions.ts';
import { listenGate, toServed } from './listen-gate.ts';
import { createServer } from './server-factory.ts';

/** What a transport knows of a client before it says anything. */
export type KnownClient = Omit<Connection, 'room' | 'cut' | 'updates' | 'push' | 'requestOf'>;

interface Connected {
  listChanged(kind: ListKind): void;
  close(): Promise<void>;
}

/** Subscriptions and connections; each costs memory for as long as its client likes. */
const MAX_CONNECTED = 4_096;
/** How long the last words to a client may take; one that does not read takes for ever. */
const FAREWELL_MS = 1_000;

export class SdkLane {
  readonly #options: McpEndpointOptions;
  readonly #handler: McpHttpHandler;
  readonly #connected = new Set<Connected>();
  readonly #sessions: HttpSessions;

  constructor(options: McpEndpointOptions) {
    this.#options = options;
    const { face, log, sessions: limits, realm } = options;
    this.#sessions = new HttpSessions({ face, log, limits, realm });
    this.#handler = this.#createHandler();
  }

  async serve(exchange: HttpRequest, connection: Connection): Promise<void> {
    const { request, response, body } = exchange;
    if (isSubscription(body)) return this.#serveSubscription(exchange, connection);
    const inSession = mayBeOfSession(exchange)
      ? this.#sessions.serve(exchange, connection)
      : undefined;
    if (inSession) return await inSession;
    await serveFetch(this.#handler, request, response, body, toAuthInfo(connection));
  }

  /** With a handler of its own, since the notifications depend on the listener. */
  async #serveSubscription(exchange: HttpRequest, connection: Connection): Promise<void> {
    const { request, response, body, detach } = exchange;
    detach();
    if (this.#connected.size >= MAX_CONNECTED)
      throw failure('too_many_subscriptions', { allowed: MAX_CONNECTED });
    const handler = this.#createHandler();
    const { notify } = handler;
    const { face } = this.#options;
    const { relay } = face;
    const updates = relay.openUpdates({
      principal: connection.principal,
      tellUpdated: async (uri) => {
        await connection.room();
        notify.resourceUpdated(uri);
      },
      tellListChanged: async () => {
        await connection.room();
        notify.resourcesChanged();
      },
    });
    const connected: Connected = {
      close: () => handler.close(),
      listChanged: (kind) => notifySubscribers(notify, kind),
    };
    this.#connected.add(connected);
    try {
      const mayFollow = relay.mayFollow(connection, face);
      const served = updates ? await toServed(body, updates, mayFollow) : body;
      if (response.destroyed) return;
      await serveFetch(handler, request, response, served, toAuthInfo(connection));
    } finally {
      updates?.close();
      this.#connected.delete(connected);
    }
  }

  /** Serves one client over a channel of messages; resolves when it is gone. */
  async serveChannel(channel: MessageChannel, known: KnownClient): Promise<void> {
    const { face, log, observer } = this.#options;
    const { transport, headers, principal } = known;
    const paced = pacedChannel(channel);
    const { room } = paced;
    const gone = Promise.withResolvers<void>();
    const servers = new Set<Server>();
    const tell = async (say: (server: Server) => Promise<void>) => {
      await room();
      await Promise.allSettled([...servers].map(say));
    };
    const updates = face.relay.openUpdates({
      principal: known.principal,
      tellUpdated: (uri) => tell((server) => server.sendResourceUpdated({ uri })),
      tellListChanged: () => tell((server) => server.sendResourceListChanged()),
    });
    const cut = () => void channel.close();
    const about = { face: 'mcp', transport, headers, principal } as const;
    const messages = new MessageTransport({
      channel: paced,
      log,
      inFlight: face.inFlight,
      onGone: gone.resolve,
      observe: (message) => observer.requestStarted({ ...about, message }),
      intake:
        updates &&
        listenGate(updates, (...asked) => face.relay.mayFollow(connection, face)(...asked)),
      holder: { held: this.#options.held, principalId: principal.id },
    });
    const connection: Connection = {
      ...known,
      room,
      cut,
      updates,
      push: true,
      requestOf: (id) => messages.requestOf(id),
    };
    const handle = serveStdio(
      ({ era }) => {
        const server = createServer(face, era, connection);
        servers.add(server);
        return server;
      },
      {
        transport: messages,
        onerror: (error) => this.#noteError(error),
      },
    );
    const connected: Connected = {
      close: async () => {
        if (!(await settlesWithin(handle.close(), FAREWELL_MS))) cut();
      },
      listChanged: (kind) => {
        for (const server of servers) {
          sendListChanged(server, kind).catch((error: unknown) => {
            const why = FabricError.from(error);
            log.debug({ error: why }, 'could not notify a client of a list change');
          });
        }
      },
    };
    this.#connected.add(connected);
    await gone.promise;
    updates?.close();
    this.#connected.delete(connected);
  }

  listChanged(kind: ListKind): void {
    this.#sessions.listChanged(kind);
    for (const connected of this.#connected) connected.listChanged(kind);
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#connected, (connected) => connected.close()));
    await this.#sessions.close();
    await this.#handler.close();
  }

  #createHandler(): McpHttpHandler {
    return createMcpHandler((context) => this.#createServer(context), {
      onerror: (error) => this.#noteError(error),
    });
  }

  #createServer({ era, authInfo }: McpRequestContext): Server {
    return createServer(this.#options.face, era, authInfo?.extra?.connection as Connection);
  }

  #noteError(error: Error): void {
    this.#options.log.debug({ error: FabricError.from(error) }, 'mcp');
  }
}

/** It stays open for ever: a shutdown does not wait for it. */
function isSubscription(body: unknown): boolean {
  return isObject(body) && body.method === 'subscriptions/listen';
}

/** Whether a request may name a session, or begin one. */
function mayBeOfSession({ request, body }: HttpRequest): boolean {
  if (request.headers['mcp-session-id'] !== undefined) return true;
  return isObject(body) && body.method === 'initialize';
}
