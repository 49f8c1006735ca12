// A sample that serves HTTP, kept running: one that dies is started again on the same port, after a
// pause that grows while it keeps dying young. Ends with all it started when it is stopped.

import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs, FabricError } from '@starloom/core';
import { type ServerOptions, type StartedServer, startServer } from './start-server.ts';

const PAUSES = { firstMs: 250, longestMs: 15_000 };
/** A process that ran that long did not fail at its start. */
const GROWN_UP_MS = 10_000;

export class KeptServer implements AsyncDisposable {
  readonly #options: ServerOptions;
  readonly #stopping = new AbortController();
  readonly #keeping: Promise<void>;
  #server: StartedServer;

  /** Rejects with AGENT_OFFLINE when it does not come up at all. */
  static async start(options: ServerOptions, port = 0): Promise<KeptServer> {
    const never = new AbortController().signal;
    return new KeptServer(options, await startServer(options, port, never));
  }

  private constructor(options: ServerOptions, server: StartedServer) {
    this.#options = options;
    this.#server = server;
    this.#keeping = this.#keep();
  }

  /** The same over restarts. */
  get url(): string {
    return this.#server.url;
  }

  /** Of the process that runs, or ran last. */
  get pid(): number {
    return this.#server.process.pid;
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new FabricError('CANCELLED', 'The samples are stopped'));
    await Promise.all([this.#server.process.stop(), this.#keeping]);
    // The one that came up while we were stopping.
    await this.#server.process.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stopping;
    let deaths = 0;
    while (!signal.aborted) {
      const began = performance.now();
      const exit = await this.#server.process.exited;
      await this.#server.process.stop();
      if (signal.aborted) return;
      deaths = performance.now() - began < GROWN_UP_MS ? deaths + 1 : 1;
      this.#warn({ ...exit, deaths }, 'a sample agent died and is started again');
      await this.#restart(deaths);
    }
  }

  /** Returns when it runs again, or is to stop. */
  async #restart(deaths: number): Promise<void> {
    const { signal } = this.#stopping;
    for (let attempt = deaths; !signal.aborted; attempt += 1) {
      await delay(pauseBefore(attempt), undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      try {
        this.#server = await startServer(this.#options, this.#server.port, signal);
        return;
      } catch (error) {
        if (!signal.aborted) this.#warn({ error }, 'a sample agent did not start again yet');
      }
    }
  }

  #warn(fields: object, message: string): void {
    const { log, name } = this.#options;
    log.warn({ agent_id: name, ...fields }, message);
  }
}

/** For the first death, the second, and so on. */
export function pauseBefore(death: number): number {
  return backoffMs({ ...PAUSES, tries: death });
}
