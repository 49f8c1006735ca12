// The resident memory of a gateway that knows nothing of being measured. What the process could free
// is freed first: its debugger is opened with SIGUSR1, on a free port, and asked to collect garbage.

import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { residentMegabytes } from '../../bench/process-usage.ts';

/** As the container image sets it, and docs/limits.md recommends it. */
export const ALLOCATOR_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
};

/** For the environment of the gateway. */
export const DEBUGGER_ENVIRONMENT = {
  NODE_OPTIONS: '--conditions=@starloom/source --inspect-port=127.0.0.1:0',
};

const MEGABYTE = 1024 ** 2;
const SAMPLE_MS = 50;
const OPEN_MS = 20_000;
const COLLECT_MS = 30_000;
/** Timers of the gateway (connections that close, caches that expire) get this long to run. */
const QUIET_MS = 1_000;

/** In megabytes. */
export interface Settled {
  readonly resident: number;
  /** Objects and buffers in use; the rest of what is resident is code, stacks and free lists. */
  readonly live: number;
}

interface Measured {
  readonly pid: number;
  readonly log: readonly string[];
}

export class GatewayMemory implements Disposable {
  readonly #gateway: Measured;
  readonly #timer: NodeJS.Timeout;
  #peak = 0;
  #debugger: WebSocket | undefined;

  constructor(gateway: Measured) {
    this.#gateway = gateway;
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  /** The most since the last time it was asked, in megabytes. */
  takePeak(): number {
    this.#sample();
    const peak = this.#peak;
    this.#peak = 0;
    return peak;
  }

  /** After a quiet moment and two collections: the second frees what the first finalised. */
  async settled(): Promise<Settled> {
    await delay(QUIET_MS);
    await this.#ask('HeapProfiler.collectGarbage');
    await delay(QUIET_MS / 4);
    await this.#ask('HeapProfiler.collectGarbage');
    const { usedSize = 0, backingStorageSize = 0 } = await this.#ask('Runtime.getHeapUsage');
    this.#disconnect();
    return { resident: this.#resident(), live: (usedSize + backingStorageSize) / MEGABYTE };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#disconnect();
  }

  /** A process does not end while its debugger is in use. */
  #disconnect(): void {
    this.#debugger?.terminate();
    this.#debugger = undefined;
  }

  #sample(): void {
    this.#peak = Math.max(this.#peak, this.#resident());
  }

  #resident(): number {
    return residentMegabytes(this.#gateway.pid) ?? 0;
  }

  async #ask(method: string): Promise<Readonly<Record<string, number>>> {
    this.#debugger ??= await this.#open();
    const { promise, resolve, reject } = Promise.withResolvers<Record<string, number>>();
    this.#debugger.once('message', (data) => resolve(JSON.parse(String(data)).result ?? {}));
    const timer = setTimeout(() => reject(new Error(`${method} did not end`)), COLLECT_MS);
    this.#debugger.send(JSON.stringify({ id: 1, method }));
    return await promise.finally(() => clearTimeout(timer));
  }

  async #open(): Promise<WebSocket> {
    process.kill(this.#gateway.pid, 'SIGUSR1');
    const deadline = performance.now() + OPEN_MS;
    for (;;) {
      const address = this.#gateway.log.join('\n').match(/ws:\/\/127\.0\.0\.1:\S+/)?.[0];
      if (address !== undefined) return await connect(address);
      if (performance.now() > deadline) throw new Error('the debugger of the gateway did not open');
      await delay(20);
    }
  }
}

function connect(address: string): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(address);
    socket.once('open', () => resolve(socket));
    socket.once('error', reject);
  });
}
