// The gateway put together: what the parts are is decided by the caller, how they meet stands here.

import type { Readable, Writable } from 'node:stream';
import {
  createMcpHandler,
  type McpHttpHandler,
  type McpRequestContext,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import {
  type Adapter,
  type Clock,
  FabricError,
  type Manifest,
  type Registry,
  systemClock,
} from '@starloom/core';
import { type Authenticator, LOCAL_PRINCIPAL } from '@starloom/identity';
import { AdapterPool } from './adapter-pool.ts';
import { AgentDescriptions } from './agent-descriptions.ts';
import { ArgumentSchemas } from './argument-schemas.ts';
import type { GatewayConfig } from './config.ts';
import { HealthMonitor } from './health-monitor.ts';
import { InFlight } from './in-flight.ts';
import type { Connection } from './mcp/connection.ts';
import { readLeanCall, serveLeanCall } from './mcp/lean-lane.ts';
import {
  LIST_KINDS,
  type ListKind,
  tellConnected,
  tellSubscribers,
  watchLists,
} from './mcp/list-changes.ts';
import { assertParamHeaders } from './mcp/param-headers.ts';
import { RelayFace } from './mcp/relay-face.ts';
import { createServer, type McpFace } from './mcp/server-factory.ts';
import type { Observer } from './observe/observer.ts';
import { Breakers } from './pipeline/breaker.ts';
import { CallGuard } from './pipeline/guard.ts';
import { agentDescribeTool } from './tools/agent-describe.ts';
import { agentListTool } from './tools/agent-list.ts';
import { callTool } from './tools/call.ts';
import { ToolCatalog } from './tools/catalog.ts';
import { healthTool } from './tools/health.ts';
import { routePreviewTool } from './tools/route-preview.ts';
import type { CallDeps } from './tools/run-call.ts';
import { HttpTransport, type McpExchange, type Upgrade } from './transports/http.ts';
import { room, serveFetch } from './transports/http-bridge.ts';
import { type MessageChannel, MessageTransport } from './transports/message-transport.ts';
import { stdioChannel } from './transports/stdio.ts';
import { WebSocketTransport } from './transports/websocket.ts';

export interface GatewayOptions {
  readonly config: GatewayConfig;
  readonly registry: Registry;
  readonly openAdapter: (manifest: Manifest) => Promise<Adapter>;
  readonly authenticator: Authenticator;
  readonly observer: Observer;
  readonly version: string;
  readonly clock?: Clock;
  /** How long a shutdown waits for what is in flight. */
  readonly drainMs?: number;
}

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #adapters: AdapterPool;
  readonly #monitor: HealthMonitor;
  readonly #descriptions: AgentDescriptions;
  readonly #catalog: ToolCatalog;
  readonly #face: McpFace;
  readonly #http: HttpTransport;
  readonly #handler: McpHttpHandler;
  readonly #webSocket: WebSocketTransport;
  readonly #connections = new Set<{ listChanged(kind: ListKind): void; close(): Promise<void> }>();
  readonly #unwatch: () => void;
  readonly #inFlight = new InFlight();
  #draining = false;

  constructor(options: GatewayOptions) {
    this.#options = options;
    const { config, registry, observer, version, clock = systemClock } = options;
    const { log } = observer;
    this.#adapters = new AdapterPool({ open: (manifest) => this.#openAdapter(manifest), log });
    const breakers = new Breakers({ clock, onChange: observer.breakerChanged.bind(observer) });
    const guard = new CallGuard({
      limit: config.limits.depth,
      clock,
      onBlocked: observer.recursionBlocked.bind(observer),
    });
    this.#monitor = new HealthMonitor({
      registry,
      adapters: this.#adapters,
      log,
      clock,
      onHealth: observer.agentHealth.bind(observer),
    });
    this.#descriptions = new AgentDescriptions({
      registry,
      adapters: this.#adapters,
      log,
      onChange: () => this.#listChanged('tools'),
    });
    const deps: CallDeps = {
      registry,
      adapters: this.#adapters,
      breakers,
      guard,
      schemas: new ArgumentSchemas(),
      descriptions: this.#descriptions,
      clock,
      log,
      observer,
      resultLength: config.limits.result_bytes,
    };
    this.#catalog = new ToolCatalog({
      own: [
        agentListTool(registry),
        agentDescribeTool(registry, this.#descriptions),
        callTool(deps),
        routePreviewTool(deps),
        healthTool({ registry, breakers, clock, version }),
      ],
      registry,
      descriptions: this.#descriptions,
      deps,
      log,
      expose: config.mcp.expose,
      unprefixed: config.mcp.unprefixed,
    });
    const relay = new RelayFace({
      registry,
      adapters: this.#adapters,
      log,
      expose: config.mcp.expose,
      unprefixed: config.mcp.unprefixed,
    });
    this.#face = { catalog: this.#catalog, relay, version, inFlight: this.#inFlight };
    this.#handler = createMcpHandler((context) => this.#createServer(context), {
      onerror: (error) => log.debug({ error: FabricError.from(error) }, 'mcp'),
    });
    this.#webSocket = new WebSocketTransport({ maxMessageBytes: config.limits.body_bytes });
    this.#http = new HttpTransport({
      ...config.listen,
      bodyBytes: config.limits.body_bytes,
      toolNames: config.mcp.tool_names,
      authenticator: options.authenticator,
      observer,
      isReady: () => !this.#draining,
      mcp: (exchange) => this.#serveMcp(exchange),
      upgrade: (upgrade) => this.#serveWebSocket(upgrade),
    });
    this.#unwatch = registry.watch(({ kind, agentIds }) => {
      if (kind !== 'agents') return;
      for (const agentId of agentIds) {
        this.#adapters.retire(agentId);
        breakers.forget(agentId);
        if (!registry.get(agentId)) observer.agentGone(agentId);
      }
      for (const changed of LIST_KINDS) this.#listChanged(changed);
    });
  }

  /** Begins to serve over HTTP; the URL it is reached under. */
  async listen(): Promise<string> {
    const url = await this.#http.listen();
    this.#monitor.start();
    return url;
  }

  /** Serves one client over a pair of streams; resolves when it is gone. */
  async serveStdio(input: Readable, output: Writable): Promise<void> {
    const { config, observer } = this.#options;
    this.#monitor.start();
    const maxLineBytes = config.limits.body_bytes;
    const channel = stdioChannel({ input, output, maxLineBytes, log: observer.log });
    await this.#serveChannel(channel, {
      principal: LOCAL_PRINCIPAL,
      transport: 'stdio',
      headers: {},
      toolNames: config.mcp.tool_names,
      room: () => undefined,
      cut: () => void channel.close(),
    });
  }

  /** Takes nothing new, finishes what is in flight, then frees everything. */
  async close(): Promise<void> {
    if (this.#draining) return;
    this.#draining = true;
    this.#unwatch();
    this.#monitor.stop();
    this.#descriptions.close();
    const drained = this.#http.drain();
    await this.#inFlight.untilIdle(this.#options.drainMs ?? 30_000);
    this.#webSocket.close();
    await Promise.all([...this.#connections].map((connection) => connection.close()));
    await this.#handler.close();
    this.#http.cut();
    await drained;
    await this.#adapters.close();
  }

  #createServer({ era, authInfo }: McpRequestContext) {
    const connection = authInfo?.extra?.connection as Connection;
    return createServer(this.#face, era, connection);
  }

  async #serveMcp({ request, response, principal, toolNames, body }: McpExchange): Promise<void> {
    assertParamHeaders(this.#catalog, body, request.headers);
    const connection: Connection = {
      principal,
      transport: 'http',
      headers: request.headers,
      toolNames,
      room: () => room(response),
      cut: () => response.destroy(),
    };
    const lean = readLeanCall(body, request.headers, this.#face);
    const serve = () =>
      lean
        ? serveLeanCall(lean, response, connection, this.#face)
        : serveFetch(this.#handler, request, response, body, { connection });
    await (isSubscription(body) ? serve() : this.#inFlight.during(serve));
  }

  #serveWebSocket(upgrade: Upgrade): void {
    const { request, principal, toolNames } = upgrade;
    this.#webSocket.accept(upgrade, (channel) => {
      void this.#serveChannel(channel, {
        principal,
        transport: 'ws',
        headers: request.headers,
        toolNames,
        room: () => undefined,
        cut: () => void channel.close(),
      });
    });
  }

  async #serveChannel(channel: MessageChannel, connection: Connection): Promise<void> {
    const { log } = this.#options.observer;
    const closed = Promise.withResolvers<void>();
    const servers = new Set<ReturnType<typeof createServer>>();
    const watched: MessageChannel = {
      ...channel,
      open: (onText, onClose) =>
        channel.open(onText, () => {
          onClose();
          closed.resolve();
        }),
    };
    const handle = serveStdio(
      ({ era }) => {
        const server = createServer(this.#face, era, connection);
        servers.add(server);
        return server;
      },
      {
        transport: new MessageTransport(watched, log),
        onerror: (error) => log.debug({ error: FabricError.from(error) }, 'mcp'),
      },
    );
    const entry = {
      close: () => handle.close(),
      listChanged: (kind: ListKind) => {
        for (const server of servers) tellConnected(server, kind, log);
      },
    };
    this.#connections.add(entry);
    await closed.promise;
    this.#connections.delete(entry);
  }

  async #openAdapter(manifest: Manifest): Promise<Adapter> {
    const { agent_id } = manifest;
    const { expose } = this.#options.config.mcp;
    const adapter = await this.#options.openAdapter(manifest);
    watchLists(adapter, (kind) => {
      if (kind === 'tools') void this.#descriptions.refresh(agent_id);
      else if (expose === 'all' || expose.includes(agent_id)) this.#listChanged(kind);
    });
    return adapter;
  }

  #listChanged(kind: ListKind): void {
    if (kind === 'tools') this.#catalog.invalidate();
    tellSubscribers(this.#handler.notify, kind);
    for (const connection of this.#connections) connection.listChanged(kind);
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
