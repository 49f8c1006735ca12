// One MCP server, as its client sees it: connected when first needed, and again after the connection
// was lost. Requests share one connection unless the server makes that ambiguous (see `Lanes`).

import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type Implementation,
  type JSONRPCNotification,
} from '@modelcontextprotocol/client';
import {
  Backoff,
  type Clock,
  type Counted,
  FabricError,
  type Fields,
  isObject,
  type Log,
  systemClock,
} from '@starloom/core';
import { type AgentTransport, isQuestion } from './agent-transport.ts';
import { McpCall, openCall, type ServerFacts } from './call.ts';
import type { Headers } from './http-headers.ts';
import { HttpClientTransport, HttpEndpoint, type HttpEndpointOptions } from './http-transport.ts';
import { type Lane, Lanes } from './lanes.ts';
import { failure } from './reasons.ts';
import type { ListKind } from './server/lists.ts';
import { type ConnectionAttempt, SharedConnection } from './shared-connection.ts';
import { StdioClientTransport, type StdioTransportOptions } from './stdio-transport.ts';
import { LISTEN } from './subscriptions.ts';
import { ToolCatalog, type Tools } from './tool-catalog.ts';

export interface McpClientOptions {
  /** How the server is reached. Closed with the client. */
  readonly source: TransportSource;
  /** Who we are. */
  readonly info: Implementation;
  /** What a server may ask of us. */
  readonly capabilities: ClientCapabilities;
  readonly connectTimeoutMs: number;
  /** A server that keeps failing is tried ever more slowly, up to this; without it, at once. */
  readonly longestBackoffMs?: number | undefined;
  readonly log: Log;
  readonly clock?: Clock;
  /** There is a new connection. */
  readonly onOpened?: () => void;
  /** No connection came about, or one was lost. */
  readonly onFailure?: (failure: FabricError) => void;
}

/** `idle`: not needed yet. */
export type ClientState = 'idle' | 'starting' | 'online' | 'offline';

export interface CallToolOptions {
  readonly signal: AbortSignal;
  readonly meta?: Fields;
  readonly onProgress?: (progress: Progress) => void;
}

export interface RequestOptions {
  /** Aborts with a FabricError; the agent is notified. */
  readonly signal: AbortSignal;
  /** What the client declared; wins over what `_meta` of the params says. 2026-07-28 agents only. */
  readonly clientCapabilities?: Fields;
  /**
   * Progress (when the params asked for it, under the token they gave), log messages of this
   * request, and what it subscribed to (`subscriptions/listen`), in order and before the result. Over
   * stdio a log message is passed on only while no other request runs, since it does not say where
   * it belongs. The agent is held back while a returned promise is pending.
   */
  readonly onNotification?: (notification: JSONRPCNotification) => void | Promise<void>;
}

const FIRST_BACKOFF_MS = 100;

export class McpClient {
  readonly #options: McpClientOptions;
  /** Where `openCall` finds a connection. */
  readonly lanes: Lanes;
  readonly #listeners = new Set<{ readonly kind: ListKind; readonly listener: () => void }>();

  /** Connects when first needed. */
  constructor(options: McpClientOptions) {
    this.#options = options;
    this.lanes = new Lanes(() => this.#openLane());
  }

  get state(): ClientState {
    const { current, isOpening, starts, failure } = this.lanes.main.shared;
    if (current) return 'online';
    if (isOpening) return 'starting';
    return starts > 0 || failure ? 'offline' : 'idle';
  }

  /** The connection that is being made, if any. */
  get attempt(): ConnectionAttempt | undefined {
    return this.lanes.main.shared.attempt;
  }

  /** Why there is no connection; `undefined` while there is one. */
  get failure(): FabricError | undefined {
    return this.lanes.main.shared.failure;
  }

  /** How often the server was started, or connected to, in all. */
  get starts(): number {
    return this.lanes.main.shared.starts;
  }

  /** What the server says of itself; connects when needed. */
  facts(signal: AbortSignal): Promise<ServerFacts> {
    return this.lanes.main.shared.get(signal);
  }

  /** As far as known: the server is asked when nothing is known, or may have changed. */
  async tools(signal: AbortSignal): Promise<Tools> {
    const { shared, catalog } = this.lanes.main;
    return await catalog.all(await shared.get(signal), signal);
  }

  /** The server is asked in any case. */
  async listTools(signal: AbortSignal): Promise<Tools> {
    this.lanes.main.catalog.invalidate();
    return await this.tools(signal);
  }

  /** The result as it came. What the server asks meanwhile is answered with a cancellation. */
  async callTool(name: string, args: Fields, options: CallToolOptions): Promise<Fields> {
    const { signal, meta = {}, onProgress } = options;
    using call = await openCall(this.lanes, { signal });
    const toParams = () => ({ arguments: args, _meta: meta });
    try {
      const answer = await call.callTool(name, { needsTool: false, toParams });
      for (let said = await answer.next(); said; said = await answer.next()) {
        if (isQuestion(said)) call.decline(said);
        else if (said.method === 'notifications/progress') onProgress?.(toProgress(said));
      }
      return answer.result();
    } catch (error) {
      const reason = FabricError.from(error);
      call.noteFailure(reason);
      throw reason;
    }
  }

  /**
   * Sends any MCP request and resolves with the result as it came, unknown fields and
   * `resultType: 'input_required'` included. Rejects with a FabricError; `rpcErrorOf` gives the
   * JSON-RPC error of the server when it was one.
   */
  async request(
    method: string,
    params: Fields | undefined,
    options: RequestOptions,
  ): Promise<Fields> {
    const { signal, clientCapabilities, onNotification } = options;
    if (method === LISTEN) {
      const { olderSubscriptions } = await this.lanes.main.shared.get(signal);
      if (olderSubscriptions) return await olderSubscriptions.listen(params, options);
    }
    const meta = isObject(params?._meta) ? params._meta : {};
    const token = meta.progressToken;
    const declared = clientCapabilities && { [CLIENT_CAPABILITIES_META_KEY]: clientCapabilities };
    const sent = { ...params, _meta: { ...meta, ...declared } };
    using call = new McpCall(this.lanes, this.lanes.mainLease, { signal });
    const answer = await call.send(method, sent, { progress: token !== undefined });
    for (let said = await answer.next(); said; said = await answer.next()) {
      if (isQuestion(said)) call.decline(said);
      else await onNotification?.(withToken(said, token));
    }
    return answer.result();
  }

  /** Asks for a sign of life. */
  async ping(signal: AbortSignal): Promise<void> {
    const { era } = await this.facts(signal);
    await this.request(era === 'modern' ? 'server/discover' : 'ping', undefined, { signal });
  }

  /**
   * Calls back when a list has changed or may have, as after a restart of the server. Makes no
   * connection by itself. Returns how to stop.
   */
  onListChanged(kind: ListKind, listener: () => void): () => void {
    const entry = { kind, listener };
    this.#listeners.add(entry);
    this.lanes.main.shared.current?.watches(kind);
    return () => this.#listeners.delete(entry);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    await this.lanes.close();
    await this.#options.source.close();
  }

  #openLane(): Lane {
    const { source, longestBackoffMs: longestMs, clock = systemClock } = this.#options;
    const { info, capabilities, connectTimeoutMs, log, onFailure } = this.#options;
    const catalog = new ToolCatalog(log);
    const rules = { firstMs: FIRST_BACKOFF_MS, freeTries: 1 };
    const shared = new SharedConnection({
      createTransport: () => source.create(),
      info,
      capabilities,
      connectTimeoutMs,
      backoff: longestMs === undefined ? undefined : new Backoff({ ...rules, longestMs }, clock),
      clock,
      log,
      onFailure,
      onOpened: (connection) => {
        for (const { kind } of this.#listeners) connection.watches(kind);
        this.#options.onOpened?.();
      },
      onListChanged: (kind) => {
        if (kind === 'tools') catalog.invalidate();
        for (const entry of this.#listeners) if (entry.kind === kind) entry.listener();
      },
      onStray: () => {
        if (Object.keys(capabilities).length === 0) return;
        log.info({}, 'the agent asked while several calls ran: each gets its own connection now');
        this.lanes.separate();
      },
    });
    return { shared, catalog };
  }
}

/** Under the token its reader knows. */
function withToken(notification: JSONRPCNotification, progressToken: unknown): JSONRPCNotification {
  if (notification.method !== 'notifications/progress') return notification;
  return {
    ...notification,
    params: { ...notification.params, progressToken },
  } as JSONRPCNotification;
}

/** Makes the transports to one server, one after the other, and keeps what they share. */
export interface TransportSource {
  create(): AgentTransport;
  close(): Promise<void>;
}

export function httpTransports(
  options: HttpEndpointOptions & { readonly log: Log },
): TransportSource {
  const endpoint = new HttpEndpoint(options);
  return {
    create: () => new HttpClientTransport(endpoint, options.log),
    close: () => endpoint.close(),
  };
}

/** Names of hop-by-hop headers, and of those that only the transport may set. */
const RESERVED = /^(host|connection|keep-alive|te|trailer|upgrade|expect|content-.*|transfer-.*)$/;

/** Headers in lower case; BAD_INPUT for what no request can carry. */
export function parseHeaders(headers: Readonly<Record<string, string>> = {}): Headers {
  const parsed: Headers = {};
  for (const [name, value] of Object.entries(headers)) {
    const key = name.toLowerCase();
    const isName = /^[!#$%&'*+\-.^_`|~0-9a-z]{1,128}$/.test(key);
    if (!isName || RESERVED.test(key) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw failure('bad_header', { header: name });
    }
    parsed[key] = value;
  }
  return parsed;
}

/** Each starts a process. */
export function stdioTransports(options: StdioTransportOptions): TransportSource {
  return { create: () => new StdioClientTransport(options), close: async () => {} };
}

export interface Progress {
  readonly message: string | undefined;
  /** Of 100, when the server gave a total. */
  readonly percent: number | undefined;
  /** As the server counts; absent when that is no number. */
  readonly counted: Counted | undefined;
}

/** Larger values do not leave room for another one above them. */
const MAX_PROGRESS = Number.MAX_SAFE_INTEGER;

/** Of a `notifications/progress`. */
export function toProgress({ params = {} }: JSONRPCNotification): Progress {
  const { progress, total, message } = params;
  return {
    message: typeof message === 'string' ? message : undefined,
    percent: percentOf(progress, total),
    counted: countedOf(progress, total),
  };
}

function countedOf(progress: unknown, total: unknown): Counted | undefined {
  if (typeof progress !== 'number' || !(Math.abs(progress) <= MAX_PROGRESS)) return undefined;
  return typeof total === 'number' && Number.isFinite(total) ? { progress, total } : { progress };
}

function percentOf(progress: unknown, total: unknown): number | undefined {
  if (typeof progress !== 'number' || typeof total !== 'number' || !(total > 0)) return undefined;
  const percent = (100 * progress) / total;
  return Number.isFinite(percent) ? Math.min(100, Math.max(0, percent)) : undefined;
}
