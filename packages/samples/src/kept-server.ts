// A sample that serves HTTP, kept running: one that dies is started again on the same port, after a
// pause that grows while it keeps dying young. Ends with all it started when it is stopped.

import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs, FabricError, type Log } from '@starloom/core';
import { deadlineSignal, type ManagedProcess, spawnProcess } from '@starloom/wire';

const PAUSES = { firstMs: 250, longestMs: 15_000 };
/** A process that ran for this long did not fail at its start. */
const GROWN_UP_MS = 10_000;

export class KeptServer implements AsyncDisposable {
  readonly #options: ServerOptions;
  readonly #stopping = new AbortController();
  readonly #keeping: Promise<void>;
  #server: StartedServer;

  /** Rejects with AGENT_OFFLINE when it does not come up at all. */
  static async start(options: ServerOptions, port = 0): Promise<KeptServer> {
    const { signal } = new AbortController();
    return new KeptServer(options, await startServer(options, port, signal));
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

  async stop(): Promise<void> {
    this.#stopping.abort(new FabricError('CANCELLED', 'The samples are stopped'));
    await Promise.all([this.#server.process.stop(), this.#keeping]);
    // The one that came up while we were stopping.
    await this.#server.process.stop();
  }

  readonly [Symbol.asyncDispose] = () => this.stop();

  async #keep(): Promise<void> {
    const { signal } = this.#stopping;
    const { log, name: agent_id } = this.#options;
    for (let deaths = 1; ; deaths += 1) {
      const began = performance.now();
      // After a start that failed this is known at once.
      const exit = await this.#server.process.exited;
      await this.#server.process.stop();
      if (signal.aborted) return;
      if (performance.now() - began >= GROWN_UP_MS) deaths = 1;
      log.warn({ agent_id, ...exit, deaths }, 'a sample agent died and is started again');
      await delay(pauseBefore(deaths), undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      try {
        this.#server = await startServer(this.#options, Number(new URL(this.url).port), signal);
      } catch (error) {
        if (!signal.aborted)
          log.warn({ agent_id, error }, 'a sample agent did not start again yet');
      }
    }
  }
}

export function pauseBefore(death: number): number {
  return backoffMs({ ...PAUSES, tries: death });
}

export type Script = { readonly command: string; readonly args: string[] };

interface ServerOptions {
  readonly name: string;
  /** Takes `--port N`, 0 for any, and says where it listens with the first line on its stdout. */
  readonly script: Script;
  readonly log: Log;
}

type StartedServer = { readonly process: ManagedProcess; readonly url: string };

const START_MS = 30_000;

/** Resolves when it listens; rejects with AGENT_OFFLINE, or when `signal` aborts, having ended it. */
async function startServer(
  { name, script, log }: ServerOptions,
  port: number,
  signal: AbortSignal,
): Promise<StartedServer> {
  using deadline = deadlineSignal({ ms: START_MS, parent: signal });
  const process = await spawnProcess({
    command: script.command,
    args: [...script.args, '--port', String(port)],
    onStderrLine: (line) => log.warn({ agent_id: name, line }, 'a sample wrote to stderr'),
  });
  const stop = () => void process.stop();
  if (deadline.signal.aborted) stop();
  deadline.signal.addEventListener('abort', stop, { once: true });
  const first = await process.lines().next();
  const url = first.done ? undefined : readReady(first.value);
  if (url !== undefined) return { process, url };
  await process.stop();
  signal.throwIfAborted();
  const stderr = process.stderrTail().slice(-2_000);
  throw new FabricError('AGENT_OFFLINE', `The sample agent "${name}" did not start`, {
    details: { agent_id: name, stderr, fix: 'read stderr, and check that its port is free' },
  });
}

function readReady(line: string): string | undefined {
  try {
    return new URL(JSON.parse(line).url).href;
  } catch {
    return undefined;
  }
}
