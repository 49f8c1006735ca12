// The one connection to an MCP server: opened when it is first needed, by one attempt however many wait
// for it, and again when it is needed after it was lost. A server that keeps failing is started again
// ever more slowly.

import { setTimeout as delay } from 'node:timers/promises';
import type { Implementation } from '@modelcontextprotocol/client';
import { type Clock, FabricError, type Log, systemClock } from '@starloom/core';
import { Backoff } from './backoff.ts';
import { createTransport } from './create-transport.ts';
import { connectFailure } from './failures.ts';
import type { McpServerConfig } from './server-config.ts';
import { ServerConnection } from './server-connection.ts';
import type { ServerTransport } from './server-transport.ts';

export interface McpServerOptions {
  /** Of `agent.json`: where subprocesses run. */
  readonly folder: string;
  /** Who we are towards the server. */
  readonly client: Implementation;
  readonly log: Log;
  readonly clock?: Clock;
  readonly connectTimeoutMs?: number;
}

export interface ConnectionListener {
  /** A new connection is of use only after this. */
  onOpened(connection: ServerConnection): Promise<void>;
  onToolsChanged(): void;
}

const CONNECT_TIMEOUT_MS = 30_000;
/** One that lasted this long and ended has not failed to start. */
const STABLE_MS = 5_000;
/** What a call waits for a server that failed before. */
const PATIENCE_MS = 500;

export class KeptConnection {
  readonly #config: McpServerConfig;
  readonly #options: McpServerOptions;
  readonly #listener: ConnectionListener;
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  #current: ServerConnection | undefined;
  #opening: Promise<ServerConnection> | undefined;
  #transport: ServerTransport | undefined;
  #isKnownLegacy = false;
  #isClosed = false;
  /** Why there is none, if there was to be one. */
  failure: FabricError | undefined;
  /** How often the server was started, or connected to, in all. */
  starts = 0;

  constructor(config: McpServerConfig, options: McpServerOptions, listener: ConnectionListener) {
    this.#config = config;
    this.#options = options;
    this.#listener = listener;
    this.#clock = options.clock ?? systemClock;
    this.#backoff = new Backoff(this.#clock);
  }

  /** The one that is open. */
  get current(): ServerConnection | undefined {
    return this.#current?.isOver ? undefined : this.#current;
  }

  get isOpening(): boolean {
    return this.#opening !== undefined;
  }

  async get(): Promise<ServerConnection> {
    if (!this.#opening && this.current) return this.current;
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return await this.#opening;
  }

  /** It is of no more use; the next one who needs one gets another. */
  drop(connection: ServerConnection, failure: FabricError): void {
    if (this.#current !== connection) return;
    this.failure = failure;
    this.#current = undefined;
    connection.close().catch(() => {});
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#current?.close(), this.#transport?.close()]);
    await this.#opening?.catch(() => {});
  }

  async #open(): Promise<ServerConnection> {
    await this.#waitForTurn();
    try {
      const connection = await this.#connect();
      this.#isKnownLegacy = connection.isLegacy;
      this.#current = connection;
      await this.#listener.onOpened(connection);
      this.failure = undefined;
      return connection;
    } catch (error) {
      const failure = connectFailure(this.#config.name, error, this.#current?.failure);
      this.#backoff.failed();
      this.failure = failure;
      this.#warn(failure, failure.message);
      throw failure;
    }
  }

  /** A server that changed its revision, or died of our question for it, gets a second chance. */
  async #connect(): Promise<ServerConnection> {
    const isKnownLegacy = this.#isKnownLegacy;
    try {
      return await this.#attempt(isKnownLegacy);
    } catch (error) {
      const { code, details } = FabricError.from(error);
      const isWorthIt = isKnownLegacy
        ? code === 'UPSTREAM_ERROR'
        : details.reason === 'process_ended';
      if (!isWorthIt || this.#isClosed) throw error;
      return await this.#attempt(!isKnownLegacy);
    }
  }

  async #attempt(isKnownLegacy: boolean): Promise<ServerConnection> {
    const { client, log, connectTimeoutMs: timeoutMs = CONNECT_TIMEOUT_MS } = this.#options;
    const transport = createTransport(this.#config, this.#options);
    this.#transport = transport;
    this.starts += 1;
    const openedAt = this.#clock.monotonic();
    try {
      return await ServerConnection.open({
        transport,
        client,
        timeoutMs,
        isKnownLegacy,
        log,
        onToolsChanged: () => this.#listener.onToolsChanged(),
        onClose: () => this.#onClose(transport, openedAt),
      });
    } catch (error) {
      throw connectFailure(this.#config.name, error, transport.failure);
    } finally {
      this.#transport = undefined;
    }
  }

  #onClose({ failure }: ServerTransport, openedAt: number): void {
    if (this.#clock.monotonic() - openedAt >= STABLE_MS) this.#backoff.succeeded();
    else this.#backoff.failed();
    if (!failure) return;
    this.failure = failure;
    this.#warn(failure, 'it ended');
  }

  #warn({ code, details }: FabricError, what: string): void {
    if (this.#isClosed) return;
    const fields = { server: this.#config.name, code, reason: details.reason, fix: details.fix };
    this.#options.log.warn(fields, `MCP server: ${what}`);
  }

  async #waitForTurn(): Promise<void> {
    const remaining = this.#backoff.remainingMs();
    const server = this.#config.name;
    if (remaining > PATIENCE_MS) throw keepsFailing(server, remaining, this.failure);
    if (remaining > 0) await delay(remaining);
    if (this.#isClosed) throw closed(server);
  }
}

function keepsFailing(server: string, waitMs: number, last: FabricError | undefined): FabricError {
  return new FabricError('AGENT_OFFLINE', `The MCP server "${server}" keeps failing`, {
    details: {
      reason: 'backoff',
      server,
      retry_after_ms: Math.ceil(waitMs),
      fix: 'see why it fails: run its command by hand, or look at its log',
    },
    cause: last,
  });
}

function closed(server: string): FabricError {
  return new FabricError('AGENT_OFFLINE', 'The agent is shutting down', {
    details: { reason: 'closed', server },
  });
}
