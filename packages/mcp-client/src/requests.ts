import { FabricError } from '@starloom/core';
import type { McpConnection } from './connection.ts';
import type { Exchange } from './exchange.ts';
import type { SharedConnection } from './shared-connection.ts';
import type { ToolCatalog } from './tool-catalog.ts';

/** Begins requests on the shared connection, whatever has become of the agent since the last one. */
export class Requests {
  readonly #shared: SharedConnection;
  readonly #catalog: ToolCatalog;

  constructor(shared: SharedConnection, catalog: ToolCatalog) {
    this.#shared = shared;
    this.#catalog = catalog;
  }

  /**
   * Sends and waits for the first sign of an answer. A request that the agent refused unseen, for
   * what it knew of us or we of it, is sent once more after that was put right.
   */
  async begin(
    signal: AbortSignal,
    send: (connection: McpConnection) => Exchange | Promise<Exchange>,
  ): Promise<Exchange> {
    for (let isRetry = false; ; isRetry = true) {
      if (signal.aborted) throwUnsent(signal.reason);
      const connection =
        this.#shared.current ?? (await this.#shared.get(signal).catch(throwUnsent));
      let exchange: Exchange | undefined;
      let failure: FabricError | undefined;
      try {
        const begun = send(connection);
        exchange = begun instanceof Promise ? await begun : begun;
        exchange.follow(signal);
        await exchange.ready();
        failure = exchange.failure;
      } catch (error) {
        failure = FabricError.from(error);
      }
      const isRight = failure && !isRetry && (await this.#putRight(failure, connection, signal));
      if (isRight) continue;
      if (exchange) return exchange;
      throw failure;
    }
  }

  /** False for what is no misunderstanding, and for what an agent only says of its own agents. */
  async #putRight(
    { details }: FabricError,
    connection: McpConnection,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (details.upstream !== undefined) return false;
    switch (details.reason) {
      case 'unsupported_version':
        this.#shared.forgetEra();
        this.#shared.replace(connection);
        return true;
      case 'unknown_session':
        this.#shared.replace(connection);
        return true;
      case 'header_mismatch':
        this.#catalog.invalidate();
        await this.#catalog.all(connection, signal).catch(throwUnsent);
        return true;
      default:
        return false;
    }
  }
}

export function throwUnsent(error: unknown): never {
  throw FabricError.from(error).with({ sent: false });
}
