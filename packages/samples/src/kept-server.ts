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
    for (let deaths = 1; ; ) {
      const began = performance.now();
      const exit = await this.#server.process.exited;
      await this.#server.process.stop();
      if (signal.aborted) return;
      if (performance.now() - began >= GROWN_UP_MS) deaths = 1;
      this.#warn({ ...exit, deaths }, 'a sample agent died and is started again');
      for (let isUp = false; !isUp; deaths += 1) {
        await delay(pauseBefore(deaths), undefined, { signal }).catch(() => {});
        if (signal.aborted) return;
        isUp = await this.#restart();
      }
    }
  }

  async #restart(): Promise<boolean> {
    const { signal } = this.#stopping;
    try {
      this.#server = await startServer(this.#options, this.#server.port, signal);
      return true;
    } catch (error) {
      if (!signal.aborted) this.#warn({ error }, 'a sample agent did not start again yet');
      return false;
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

export interface Script {
  readonly command: string;
  readonly args: string[];
}

interface ServerOptions {
  /** The agent it is, for log and errors. */
  readonly name: string;
  /** Takes `--port N`, 0 for any, and says where it listens with the first line on its stdout. */
  readonly script: Script;
  readonly log: Log;
}

interface StartedServer {
  readonly process: ManagedProcess;
  readonly url: string;
  readonly port: number;
}

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
  if (url !== undefined) return { process, url: url.href, port: Number(url.port) };
  await process.stop();
  signal.throwIfAborted();
  const stderr = process.stderrTail().slice(-2_000);
  throw new FabricError('AGENT_OFFLINE', `The sample agent "${name}" did not start`, {
    details: { agent_id: name, stderr, fix: 'read stderr, and check that its port is free' },
  });
}

function readReady(line: string): URL | undefined {
  try {
    return new URL(JSON.parse(line).url);
  } catch {
    return undefined;
  }
}
