// Everything that speaks MCP with clients: requests over HTTP, connections by WebSocket and stdio,
// and which of them receive a notification when a list changes.

import {
  createMcpHandler,
  type McpHttpHandler,
  type McpRequestContext,
  type Server,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { FabricError, isObject, type Log } from '@starloom/core';
import { type ListKind, notifySubscribers, sendListChanged } from '@starloom/mcp-client/server';
import { settlesWithin } from '@starloom/wire';
import type { Wires } from '../gateway-faces.ts';
import type { Observer } from '../observe/observer.ts';
import { failure } from '../reasons.ts';
import { TOOLSETS, type Toolset } from '../tools/catalog.ts';
import { assertFrame } from '../transports/frame.ts';
import { markLimited, room, serveFetch } from '../transports/http-bridge.ts';
import { type MessageChannel, pacedChannel } from '../transports/message-channel.ts';
import { MessageTransport } from '../transports/message-transport.ts';
import type { HttpRequest, Routes, Upgrade, UpgradeRoutes } from '../transports/routes.ts';
import { type Connection, toAuthInfo } from './connection.ts';
import { HttpSessions, type SessionLimits } from './http-sessions.ts';
import {
  findLeanTool,
  isLeanList,
  serveLeanCall,
  serveLeanList,
  type ToolCallMessage,
} from './lean-lane.ts';
import { listenGate, toServed } from './listen-gate.ts';
import { createServer, type McpFace } from './server-factory.ts';
import type { SessionRealm } from './shared-sessions.ts';
import { assertParamHeaders } from './to-caller.ts';
import { TOOL_NAME_SETTINGS, type ToolNameSetting } from './tool-listing.ts';

interface McpEndpointOptions extends Omit<Wires, 'inFlight'> {
  readonly face: McpFace;
  readonly toolNames: ToolNameSetting;
  readonly toolsets: readonly Toolset[];
  readonly log: Log;
  readonly observer: Pick<Observer, 'requestStarted'>;
  readonly sessions?: Partial<SessionLimits> | undefined;
  /** With other gateways, at which sessions of older clients are good, too. */
  readonly realm?: SessionRealm | undefined;
}

interface Connected {
  listChanged(kind: ListKind): void;
  close(): Promise<void>;
}

/** Subscriptions and connections; each costs memory for as long as its client likes. */
const MAX_CONNECTED = 4_096;
/** How long the last words to a client may take; one that does not read takes for ever. */
const FAREWELL_MS = 1_000;

export class McpEndpoint {
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

  get routes(): Routes {
    const serve = (exchange: HttpRequest) => this.#serveHttp(exchange);
    return { '/mcp': { assertBody: assertFrame, serve, face: 'mcp', dialect: 'payload' } };
  }

  get upgrades(): UpgradeRoutes {
    return { '/mcp/ws': (upgrade) => this.#serveWebSocket(upgrade) };
  }

  async #serveHttp(exchange: HttpRequest): Promise<void> {
    const { request, response, principal, url, body } = exchange;
    const { face, resource } = this.#options;
    const own = resource && face.catalog.findOwn(calledTool(body) ?? '');
    if (own) resource.assertMayUse(principal, own.mayUse);
    assertParamHeaders(face.catalog, body, request.headers, principal);
    const connection: Connection = {
      principal,
      transport: 'http',
      socket: request.socket,
      headers: request.headers,
      ...this.#listing(request.headers, url),
      room: () => room(response),
      cut: () => response.destroy(),
      requestOf: () => exchange.seen,
      limited: (error) => markLimited(response, error),
    };
    if (isSubscription(body)) return this.#serveSubscription(exchange, connection);
    const inSession = mayBeOfSession(exchange)
      ? this.#sessions.serve(exchange, connection)
      : undefined;
    if (inSession) return await inSession;
    const tool = findLeanTool(body, request.headers, face.catalog, principal);
    if (tool) await serveLeanCall(tool, body as ToolCallMessage, response, connection, face);
    else if (isLeanList(body, request.headers, face))
      await serveLeanList(body, response, connection, face);
    else await serveFetch(this.#handler, request, response, body, toAuthInfo(connection));
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

  #serveWebSocket(upgrade: Upgrade): void {
    const { request, socket, principal, url } = upgrade;
    const { headers } = request;
    const listing = this.#listing(headers, url);
    this.#options.webSocket.accept(upgrade, (channel) => {
      void this.serveChannel(channel, { principal, transport: 'ws', socket, headers, ...listing });
    });
  }

  /** Serves one client over a channel of messages; resolves when it is gone. */
  async serveChannel(
    channel: MessageChannel,
    known: Omit<Connection, 'room' | 'cut' | 'updates' | 'push' | 'requestOf'>,
  ): Promise<void> {
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
            log.debug(
              { error: FabricError.from(error) },
              'could not notify a client of a list change',
            );
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

  /** Ends subscriptions and connections; calls in flight are waited for by others. */
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

  /** What this client is listed: as it asks for, else as configured. */
  #listing(headers: Connection['headers'], url: URL): Pick<Connection, 'toolNames' | 'toolsets'> {
    const { toolNames, toolsets } = this.#options;
    const asked = url.search === '' ? undefined : url.searchParams.get('tool_names');
    return {
      toolNames: TOOL_NAME_SETTINGS.find((setting) => setting === asked) ?? toolNames,
      toolsets: askedToolsets(headers, url, toolsets),
    };
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

/** The tool that a request calls, if it is a call. */
function calledTool(body: unknown): string | undefined {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { name?: unknown } };
  const name = method === 'tools/call' ? params?.name : undefined;
  return typeof name === 'string' ? name : undefined;
}

const HEADER = 'x-mcp-toolsets';

/** The toolsets a request asks for by header or query, else those of the configuration. */
function askedToolsets(
  headers: Readonly<Record<string, unknown>>,
  { search, searchParams }: URL,
  configured: readonly Toolset[],
): readonly Toolset[] {
  const header = headers[HEADER];
  const asked =
    typeof header === 'string' ? header : search === '' ? null : searchParams.get('toolsets');
  if (asked === null) return configured;
  const names = asked
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return names.map((name) => {
    const toolset = TOOLSETS.find((known) => known === name);
    if (toolset) return toolset;
    const fix = `use ${TOOLSETS.join(', ')}`;
    throw failure('unknown_toolset', { toolset: name.slice(0, 64), known: TOOLSETS, fix });
  });
}
