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
  FabricError,
  type Fields,
  isAway,
  isObject,
  type Log,
  systemClock,
} from '@starloom/core';
import { cancelAnswer } from './cancel-answer.ts';
import type { McpConnection } from './connection.ts';
import { isQuestion } from './json-rpc.ts';
import { type Lane, type LaneLease, type LaneQuestion, Lanes } from './lanes.ts';
import type { ListKind } from './list-kinds.ts';
import { LISTEN } from './older-subscriptions.ts';
import { toParamHeaders } from './param-headers.ts';
import { type Progress, toProgress } from './progress.ts';
import type { RequestOptions } from './request-options.ts';
import { Requests } from './requests.ts';
import { type ConnectionAttempt, SharedConnection } from './shared-connection.ts';
import { ToolCatalog, type Tools } from './tool-catalog.ts';
import type { TransportSource } from './transport-source.ts';

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

const FIRST_BACKOFF_MS = 100;

export class McpClient {
  readonly #options: McpClientOptions;
  readonly #lanes: Lanes;
  readonly #listeners = new Set<{ readonly kind: ListKind; readonly listener: () => void }>();

  /** Connects when first needed. */
  constructor(options: McpClientOptions) {
    this.#options = options;
    this.#lanes = new Lanes(() => this.#openLane());
  }

  get state(): ClientState {
    const { current, isOpening, starts, failure } = this.#lanes.main.shared;
    if (current) return 'online';
    if (isOpening) return 'starting';
    return starts > 0 || failure ? 'offline' : 'idle';
  }

  /** The connection that is being made, if any. */
  get attempt(): ConnectionAttempt | undefined {
    return this.#lanes.main.shared.attempt;
  }

  /** Why there is no connection; `undefined` while there is one. */
  get failure(): FabricError | undefined {
    return this.#lanes.main.shared.failure;
  }

  /** How often the server was started, or connected to, in all. */
  get starts(): number {
    return this.#lanes.main.shared.starts;
  }

  /** The connection that requests share; rejects with why there is none. */
  connection(signal: AbortSignal): Promise<McpConnection> {
    return this.#lanes.main.shared.get(signal);
  }

  /** A connection for one call whose questions the caller answers itself. */
  acquire(signal: AbortSignal): LaneLease | Promise<LaneLease> {
    return this.#lanes.acquire(signal);
  }

  /** A call of this principal on this connection waits for an answer, until it is disposed. */
  openQuestion(lane: Lane, principal: string | null): LaneQuestion {
    return this.#lanes.ask(lane, principal);
  }

  /** As far as known: the server is asked when nothing is known, or may have changed. */
  async tools(signal: AbortSignal): Promise<Tools> {
    const { shared, catalog } = this.#lanes.main;
    return await catalog.all(await shared.get(signal), signal);
  }

  /** The server is asked in any case. */
  async listTools(signal: AbortSignal): Promise<Tools> {
    this.#lanes.main.catalog.invalidate();
    return await this.tools(signal);
  }

  /** The result as it came. What the server asks meanwhile is answered with a cancellation. */
  async callTool(name: string, args: Fields, options: CallToolOptions): Promise<Fields> {
    const { signal, meta = {}, onProgress } = options;
    using lease = await this.acquire(signal);
    const { catalog, requests, shared } = lease.lane;
    let used: McpConnection | undefined;
    const exchange = await requests.begin(signal, async (connection) => {
      used = connection;
      const { paramHeaders = [] } = catalog.peek(connection)?.get(name) ?? {};
      return connection.send(
        'tools/call',
        { name, arguments: args, _meta: meta },
        { progress: true, headers: toParamHeaders(paramHeaders, args) },
      );
    });
    try {
      for (let said = await exchange.next(); said; said = await exchange.next()) {
        if (isQuestion(said)) used?.respond(said, cancelAnswer(said.method));
        else if (said.method === 'notifications/progress') onProgress?.(toProgress(said));
      }
      return exchange.result();
    } catch (error) {
      const failure = FabricError.from(error);
      if (used?.isHttp && isAway(failure)) shared.drop(used, failure);
      throw failure;
    } finally {
      exchange.abandon();
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
      const { olderSubscriptions } = await this.connection(signal);
      if (olderSubscriptions) return await olderSubscriptions.listen(params, options);
    }
    const meta = isObject(params?._meta) ? params._meta : {};
    const token = meta.progressToken;
    const declared = clientCapabilities && { [CLIENT_CAPABILITIES_META_KEY]: clientCapabilities };
    const sent = { ...params, _meta: { ...meta, ...declared } };
    const { requests, shared } = this.#lanes.main;
    const exchange = await requests.begin(signal, async (connection) =>
      connection.send(method, sent, { progress: token !== undefined }),
    );
    try {
      for (let said = await exchange.next(); said; said = await exchange.next()) {
        if (isQuestion(said)) shared.current?.respond(said, cancelAnswer(said.method));
        else await onNotification?.(withToken(said, token));
      }
      return exchange.result();
    } finally {
      exchange.abandon();
    }
  }

  /** Asks for a sign of life. */
  async ping(signal: AbortSignal): Promise<void> {
    const { era } = await this.connection(signal);
    await this.request(era === 'modern' ? 'server/discover' : 'ping', undefined, { signal });
  }

  /**
   * Calls back when a list has changed or may have, as after a restart of the server. Makes no
   * connection by itself. Returns how to stop.
   */
  onListChanged(kind: ListKind, listener: () => void): () => void {
    const entry = { kind, listener };
    this.#listeners.add(entry);
    this.#lanes.main.shared.current?.watches(kind);
    return () => this.#listeners.delete(entry);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    await this.#lanes.close();
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
        this.#lanes.separate();
      },
    });
    return { shared, catalog, requests: new Requests(shared, catalog) };
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
