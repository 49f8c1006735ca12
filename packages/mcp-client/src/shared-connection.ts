// The one connection all calls to an agent share: opened when first needed, by one attempt however
// many wait for it, and again after it was lost. A child process that keeps dying is started again
// ever more slowly.

import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientCapabilities, type Implementation } from '@modelcontextprotocol/client';
import {
  type Backoff,
  type Clock,
  type ErrorDetails,
  FabricError,
  type Log,
  orAborted,
} from '@starloom/core';
import { type AgentTransport, cancelAnswer } from './agent-transport.ts';
import { McpConnection } from './connection.ts';
import { connectFailure } from './failures.ts';
import { failure } from './reasons.ts';
import { LIST_KINDS, type ListKind } from './server/lists.ts';

const STABLE_MS = 5_000;
const PATIENCE_MS = 500;

interface SharedConnectionOptions {
  readonly createTransport: () => AgentTransport;
  readonly info: Implementation;
  readonly capabilities: ClientCapabilities;
  readonly connectTimeoutMs: number;
  /** Keeps from starting the agent again and again when it fails. */
  readonly backoff: Backoff | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** No connection came about, or one was lost. */
  readonly onFailure: ((failure: FabricError) => void) | undefined;
  readonly onOpened: (connection: McpConnection) => void;
  readonly onStray: () => void;
  /** Also for every kind when a connection replaces one that was lost. */
  readonly onListChanged: (kind: ListKind) => void;
}

export interface ConnectionOptions {
  readonly transport: AgentTransport;
  /** Who we are. */
  readonly info: Implementation;
  /** What the agent may ask of us. */
  readonly capabilities: ClientCapabilities;
  /** Skip the question which revision the agent speaks. */
  readonly knownLegacy: boolean;
  readonly probeTimeoutMs: number;
  readonly timeoutMs: number;
  readonly log: Log;
  readonly onListChanged: (kind: ListKind) => void;
  readonly onClose: () => void;
  /** A question came that may belong to any of several calls; it is answered `cancel`. */
  readonly onStray: () => void;
}

export interface ConnectionAttempt {
  /** In milliseconds, by the wall clock. */
  readonly since: number;
  /** What a child process wrote so far. */
  readonly upstream: ErrorDetails | undefined;
}

export class SharedConnection {
  /** The one that was made last, if any: read on every call. It may be closed. */
  latest: McpConnection | undefined;
  /** Why there is no connection, if there was to be one. */
  failure: FabricError | undefined;
  /** How often one was made, or tried to be. */
  starts = 0;
  readonly #options: SharedConnectionOptions;
  #opening: Promise<McpConnection> | undefined;
  #transport: AgentTransport | undefined;
  /** Once found out, an older agent is not asked again. */
  #knownLegacy = false;
  #hadConnection = false;
  #isClosed = false;
  #openingSince = 0;

  constructor(options: SharedConnectionOptions) {
    this.#options = options;
  }

  /** The one that is open, if any. */
  get current(): McpConnection | undefined {
    return this.latest?.isClosed ? undefined : this.latest;
  }

  /** Whether a connection is being made right now. */
  get isOpening(): boolean {
    return this.#opening !== undefined;
  }

  /** The connection that is being made, if any. */
  get attempt(): ConnectionAttempt | undefined {
    if (!this.#opening) return undefined;
    return { since: this.#openingSince, upstream: this.#transport?.printed?.() };
  }

  /** Rejects with why there is none (`sent: false`), or with the signal's reason. */
  async get(signal: AbortSignal): Promise<McpConnection> {
    if (this.current) return this.current;
    if (this.#isClosed) throw failure('closed', { sent: false });
    this.#opening ??= this.#begin();
    return await orAborted(this.#opening, signal);
  }

  /** The next call gets a new connection; calls on this one go on. */
  replace(connection: McpConnection): void {
    if (this.latest !== connection) return;
    this.latest = undefined;
    connection.retire();
  }

  /** Like `replace`, for an agent that can no longer be reached; records the failure. */
  drop(connection: McpConnection, failure: FabricError): void {
    if (this.latest !== connection) return;
    this.#fail(failure);
    this.replace(connection);
  }

  /** The agent may speak another revision of the protocol by now. */
  forgetEra(): void {
    this.#knownLegacy = false;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.latest?.close(), this.#transport?.close()]);
    await this.#opening?.catch(() => {});
  }

  #begin(): Promise<McpConnection> {
    this.#openingSince = this.#options.clock.now();
    return this.#open().finally(() => {
      this.#opening = undefined;
    });
  }

  async #open(): Promise<McpConnection> {
    await this.#waitForTurn();
    try {
      const connection = await this.#connect();
      this.#knownLegacy = connection.era === 'legacy';
      this.latest = connection;
      this.failure = undefined;
      if (this.#hadConnection) LIST_KINDS.forEach(this.#options.onListChanged);
      this.#hadConnection = true;
      this.#options.onOpened(connection);
      return connection;
    } catch (error) {
      this.#options.backoff?.failed();
      this.#fail(FabricError.from(error));
      throw error;
    }
  }

  /** An agent that changed its revision, or died of our question for it, gets a second chance. */
  async #connect(): Promise<McpConnection> {
    const knownLegacy = this.#knownLegacy;
    try {
      return await this.#attempt(knownLegacy);
    } catch (error) {
      const { code, details } = FabricError.from(error);
      const deserves = knownLegacy ? code === 'UPSTREAM_ERROR' : details.reason === 'process_ended';
      if (!deserves || this.#isClosed) throw error;
      return await this.#attempt(!knownLegacy);
    }
  }

  async #attempt(knownLegacy: boolean): Promise<McpConnection> {
    const { info, capabilities, connectTimeoutMs: timeoutMs, log, clock } = this.#options;
    this.starts += 1;
    const transport = this.#options.createTransport();
    this.#transport = transport;
    const giveUp = () => transport.close(notReady(timeoutMs, transport.printed?.()));
    const timer = setTimeout(() => void giveUp(), timeoutMs);
    const openedAt = clock.monotonic();
    try {
      return await openConnection({
        transport,
        info,
        capabilities,
        knownLegacy,
        probeTimeoutMs: transport.kind === 'stdio' ? timeoutMs / 4 : timeoutMs,
        timeoutMs,
        log,
        onListChanged: this.#options.onListChanged,
        onClose: () => this.#onClose(transport, openedAt),
        onStray: this.#options.onStray,
      });
    } catch (error) {
      const thrown = this.#isClosed ? failure('closed') : error;
      const reason = connectFailure(thrown, transport.failure);
      await transport.close();
      log.debug({ code: reason.code, ...reason.details }, 'no connection to the agent');
      throw reason;
    } finally {
      clearTimeout(timer);
      this.#transport = undefined;
    }
  }

  #onClose({ failure }: AgentTransport, openedAt: number): void {
    const { backoff, clock } = this.#options;
    if (clock.monotonic() - openedAt >= STABLE_MS) backoff?.succeeded();
    else backoff?.failed();
    if (failure && failure.details.reason !== 'closed') this.#fail(failure);
  }

  #fail(failure: FabricError): void {
    if (this.#isClosed) return;
    this.failure = failure;
    this.#options.onFailure?.(failure);
  }

  async #waitForTurn(): Promise<void> {
    const remaining = this.#options.backoff?.remainingMs() ?? 0;
    if (remaining > PATIENCE_MS) {
      const { upstream, fix } = this.failure?.details ?? {};
      throw failure('backoff', { retry_after_ms: Math.ceil(remaining), upstream, fix });
    }
    if (remaining > 0) await delay(remaining);
    if (this.#isClosed) throw failure('closed', { sent: false });
  }
}

function notReady(exactMs: number, printed: ErrorDetails = {}): FabricError {
  const upstream = Object.keys(printed).length > 0 ? printed : undefined;
  return failure('connect_timeout', { timeout_ms: Math.round(exactMs), upstream });
}

/** Rejects with whatever the SDK or the transport threw; the transport is the caller's to close. */
async function openConnection(options: ConnectionOptions): Promise<McpConnection> {
  const { transport, info, capabilities, knownLegacy, probeTimeoutMs, timeoutMs, log } = options;
  const client = new Client(info, {
    capabilities,
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: probeTimeoutMs } },
  });
  client.onerror = (error) => log.debug({ cause: String(error) }, 'MCP client');
  for (const kind of LIST_KINDS) {
    client.setNotificationHandler(`notifications/${kind}/list_changed`, () =>
      options.onListChanged(kind),
    );
  }
  const prior = knownLegacy ? { prior: { kind: 'legacy' as const } } : {};
  await client.connect(transport, { timeout: timeoutMs, ...prior });
  const connection = new McpConnection(client, options);
  const { olderSubscriptions } = connection;
  if (olderSubscriptions) {
    client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
      olderSubscriptions.noteUpdate(params),
    );
  }
  transport.onstray = (question) => {
    connection.respond(question, cancelAnswer(question.method));
    options.onStray();
  };
  client.onclose = () => {
    olderSubscriptions?.close();
    options.onClose();
  };
  return connection;
}
