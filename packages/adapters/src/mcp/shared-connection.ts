// The one connection all calls to an agent share: opened when first needed, by one attempt however
// many wait for it, and again after it was lost. A child process that keeps dying is started again
// ever more slowly.

import { setTimeout as delay } from 'node:timers/promises';
import { FabricError, type Log } from '@starloom/core';
import type { AgentTransport } from './agent-transport.ts';
import { Backoff } from './backoff.ts';
import { closedFailure } from './closed-failure.ts';
import { connectFailure, connectTimeout } from './connect-failure.ts';
import { McpConnection } from './connection.ts';
import { LIST_KINDS, type ListKind } from './relay.ts';
import { untilAborted } from './until-aborted.ts';

const STABLE_MS = 5_000;
const PATIENCE_MS = 500;

export interface SharedConnectionOptions {
  readonly createTransport: () => AgentTransport;
  readonly connectTimeoutMs: number;
  /** Keep from starting it again and again when it fails. */
  readonly backsOff: boolean;
  readonly log: Log;
  readonly onOpened: (connection: McpConnection) => void;
  readonly onStray: () => void;
  /** Also for every kind when a connection replaces one that was lost. */
  readonly onListChanged: (kind: ListKind) => void;
}

export class SharedConnection {
  readonly #options: SharedConnectionOptions;
  readonly #backoff = new Backoff();
  #current: McpConnection | undefined;
  #opening: Promise<McpConnection> | undefined;
  #transport: AgentTransport | undefined;
  /** Once found out, an older agent is not asked again. */
  #knownLegacy = false;
  #hadConnection = false;
  #isClosed = false;
  /** Why the last connection did not come about. */
  #lastFailure: FabricError | undefined;

  constructor(options: SharedConnectionOptions) {
    this.#options = options;
  }

  /** The one that is open, if any. */
  get current(): McpConnection | undefined {
    return this.#current?.isClosed ? undefined : this.#current;
  }

  /** Whether a connection is being made right now. */
  get isOpening(): boolean {
    return this.#opening !== undefined;
  }

  /** Rejects with why there is none (`sent: false`), or with the signal's reason. */
  async get(signal: AbortSignal): Promise<McpConnection> {
    if (this.current) return this.current;
    if (this.#isClosed) throw closedFailure().with({ sent: false });
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return await untilAborted(this.#opening, signal);
  }

  /** The next call gets a new connection; calls on this one go on. */
  replace(connection: McpConnection): void {
    if (this.#current !== connection) return;
    this.#current = undefined;
    connection.retire();
  }

  /** Another revision of the protocol may be spoken by now. */
  forgetEra(): void {
    this.#knownLegacy = false;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#current?.close(), this.#transport?.close()]);
  }

  async #open(): Promise<McpConnection> {
    await this.#waitForTurn();
    try {
      const connection = await this.#connect();
      this.#knownLegacy = connection.era === 'legacy';
      this.#current = connection;
      if (this.#hadConnection) LIST_KINDS.forEach(this.#options.onListChanged);
      this.#hadConnection = true;
      this.#options.onOpened(connection);
      return connection;
    } catch (error) {
      if (this.#options.backsOff) this.#backoff.failed();
      this.#lastFailure = FabricError.from(error);
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
    const { createTransport, connectTimeoutMs: timeoutMs, log, onListChanged } = this.#options;
    const transport = createTransport();
    this.#transport = transport;
    const timer = setTimeout(() => void transport.close(connectTimeout(timeoutMs)), timeoutMs);
    const openedAt = performance.now();
    try {
      return await McpConnection.open({
        transport,
        knownLegacy,
        probeTimeoutMs: transport.kind === 'stdio' ? timeoutMs / 4 : timeoutMs,
        timeoutMs,
        log,
        onListChanged,
        onClose: () => this.#onClose(openedAt),
        onStray: this.#options.onStray,
      });
    } catch (error) {
      const failure = connectFailure(this.#isClosed ? closedFailure() : error, transport.failure);
      await transport.close();
      log.debug({ code: failure.code, ...failure.details }, 'no connection to the agent');
      throw failure;
    } finally {
      clearTimeout(timer);
      this.#transport = undefined;
    }
  }

  #onClose(openedAt: number): void {
    if (performance.now() - openedAt >= STABLE_MS) this.#backoff.succeeded();
    else if (this.#options.backsOff) this.#backoff.failed();
  }

  async #waitForTurn(): Promise<void> {
    const remaining = this.#backoff.remainingMs();
    if (remaining > PATIENCE_MS) {
      throw new FabricError('AGENT_OFFLINE', 'The agent keeps failing to start', {
        details: {
          reason: 'backoff',
          retry_after_ms: Math.ceil(remaining),
          sent: false,
          ...lastWords(this.#lastFailure),
        },
      });
    }
    if (remaining > 0) await delay(remaining);
    if (this.#isClosed) throw closedFailure().with({ sent: false });
  }
}

function lastWords(failure: FabricError | undefined) {
  const { upstream, fix = 'see the log of the agent' } = failure?.details ?? {};
  return upstream === undefined ? { fix } : { upstream, fix };
}
