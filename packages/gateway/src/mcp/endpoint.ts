// Everything that speaks MCP with clients: requests over HTTP, connections by WebSocket and stdio,
// and which of them receive a notification when a list changes.

import { isObject, type Log } from '@starloom/core';
import type { ListKind } from '@starloom/mcp-client/server';
import type { Wires } from '../gateway-faces.ts';
import type { Observer } from '../observe/observer.ts';
import { failure } from '../reasons.ts';
import { TOOLSETS, type Toolset } from '../tools/tool-lists.ts';
import { assertFrame } from '../transports/frame.ts';
import { markLimited, room } from '../transports/http-bridge.ts';
import type { MessageChannel } from '../transports/message-channel.ts';
import type { HttpRequest, Routes, Upgrade, UpgradeRoutes } from '../transports/routes.ts';
import type { Connection } from './connection.ts';
import type { SessionLimits } from './http-sessions.ts';
import { findLeanTool, serveLeanCall, type ToolCallMessage } from './lean-lane.ts';
import { isLeanList, serveLeanList } from './lean-list.ts';
import type { KnownClient, SdkLane } from './sdk-lane.ts';
import type { McpFace } from './server-factory.ts';
import type { SessionRealm } from './shared-sessions.ts';
import { assertParamHeaders } from './to-caller.ts';
import { TOOL_NAME_SETTINGS, type ToolNameSetting } from './tool-listing.ts';

export interface McpEndpointOptions extends Omit<Wires, 'inFlight'> {
  readonly face: McpFace;
  readonly toolNames: ToolNameSetting;
  readonly toolsets: readonly Toolset[];
  readonly log: Log;
  readonly observer: Pick<Observer, 'requestStarted'>;
  readonly sessions?: Partial<SessionLimits> | undefined;
  /** With other gateways, at which sessions of older clients are good, too. */
  readonly realm?: SessionRealm | undefined;
}

export class McpEndpoint {
  readonly #options: McpEndpointOptions;
  #loading: Promise<SdkLane> | undefined;
  #sdk: SdkLane | undefined;

  constructor(options: McpEndpointOptions) {
    this.#options = options;
  }

  get routes(): Routes {
    const serve = (exchange: HttpRequest) => this.#serveHttp(exchange);
    return { '/mcp': { assertBody: assertFrame, serve, face: 'mcp', dialect: 'payload' } };
  }

  get upgrades(): UpgradeRoutes {
    return { '/mcp/ws': (upgrade) => this.#serveWebSocket(upgrade) };
  }

  #serveHttp(exchange: HttpRequest): Promise<void> {
    const { request, response, principal, url, body } = exchange;
    const { face, resource } = this.#options;
    const own = resource && face.catalog.findOwn(calledTool(body) ?? '');
    if (own) resource.assertMayUse(principal, own.mayUse);
    assertParamHeaders(face.catalog, body, request.headers, principal);
    const { toolNames, toolsets } = this.#listing(request.headers, url);
    const connection: Connection = {
      principal,
      transport: 'http',
      socket: request.socket,
      headers: request.headers,
      toolNames,
      toolsets,
      room: () => room(response),
      cut: () => response.destroy(),
      requestOf: () => exchange.seen,
      limited: (error) => markLimited(response, error),
    };
    if (isForSdk(exchange)) return this.#serveBySdk(exchange, connection);
    const tool = findLeanTool(body, request.headers, face.catalog, principal);
    if (tool) return serveLeanCall(tool, body as ToolCallMessage, response, connection, face);
    if (isLeanList(body, request.headers, face))
      return serveLeanList(body, response, connection, face);
    return this.#serveBySdk(exchange, connection);
  }

  async #serveBySdk(exchange: HttpRequest, connection: Connection): Promise<void> {
    await (this.#sdk ?? (await this.#load())).serve(exchange, connection);
  }

  /** What the client sends is read once there is a lane that serves it. */
  #serveWebSocket(upgrade: Upgrade): void {
    const { request, socket, principal, url } = upgrade;
    const { headers } = request;
    const listing = this.#listing(headers, url);
    const known: KnownClient = { principal, transport: 'ws', socket, headers, ...listing };
    const onError = () => void socket.destroy();
    socket.on('error', onError);
    this.#load().then((sdk) => {
      socket.off('error', onError);
      this.#options.webSocket.accept(upgrade, (channel) => void sdk.serveChannel(channel, known));
    }, onError);
  }

  /** Serves one client over a channel of messages; resolves when it is gone. */
  async serveChannel(channel: MessageChannel, known: KnownClient): Promise<void> {
    await (await this.#load()).serveChannel(channel, known);
  }

  listChanged(kind: ListKind): void {
    this.#sdk?.listChanged(kind);
  }

  /** Ends subscriptions and connections; calls in flight are waited for by others. */
  async close(): Promise<void> {
    await (await this.#loading)?.close();
  }

  /** With the first request that is not for the lean lane: the SDK is a large part of a start. */
  #load(): Promise<SdkLane> {
    this.#loading ??= import('./sdk-lane.ts').then(({ SdkLane }) => {
      this.#sdk = new SdkLane(this.#options);
      return this.#sdk;
    });
    return this.#loading;
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
}

/** It names a session or begins one, or stays open for ever. */
function isForSdk({ request, body }: HttpRequest): boolean {
  if (request.headers['mcp-session-id'] !== undefined) return true;
  return isObject(body) && (body.method === 'initialize' || body.method === 'subscriptions/listen');
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
