// A gateway that knows nothing of being measured, seen through its debugger, which is opened with SIGUSR1 on a
// free port. Its resident memory: what the process could free is freed first. Its turns: how long its thread
// worked before anything else that was ready got its turn, in CPU time, so that other programs do not count.

import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { residentMegabytes } from '../../bench/process-usage.ts';

/** As the container image sets it, and docs/limits.md recommends it. */
export const MEMORY_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
  NODE_OPTIONS: '--max-semi-space-size=16 --v8-pool-size=0',
};

/** The environment of a gateway that is probed. */
export const PROBED_ENVIRONMENT = {
  ...MEMORY_ENVIRONMENT,
  NODE_OPTIONS: `${MEMORY_ENVIRONMENT.NODE_OPTIONS} --conditions=@starloom/source --inspect-port=127.0.0.1:0`,
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

/** In milliseconds. */
export interface Turns {
  /** A hundredth of the time passes in turns of at least this length. */
  readonly p99: number;
  readonly longest: number;
}

interface Measured {
  readonly pid: number;
  readonly log: readonly string[];
}

export class GatewayProbe implements Disposable {
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

  /** From now on the turns are noted; Node tells the CPU time of a thread from 24 on. */
  async watchTurns(): Promise<void> {
    await this.#evaluate(WATCH_TURNS);
    this.#disconnect();
  }

  /** Those since the last time it was asked. */
  async takeTurns(): Promise<Turns> {
    const [ms = 0, turns = []] = (await this.#evaluate('takeTurns()')) as [number, number[]];
    this.#disconnect();
    const inOrder = turns.toSorted((a, b) => b - a);
    let left = ms / 100;
    const p99 = inOrder.find((turn) => {
      left -= turn;
      return left <= 0;
    });
    return { p99: p99 ?? 0, longest: inOrder[0] ?? 0 };
  }

  /** After a quiet moment and two collections: the second frees what the first finalised. */
  async settled(): Promise<Settled> {
    await delay(QUIET_MS);
    await this.#ask('HeapProfiler.collectGarbage');
    await delay(QUIET_MS / 4);
    await this.#ask('HeapProfiler.collectGarbage');
    const { usedSize = 0, backingStorageSize = 0 } = (await this.#ask(
      'Runtime.getHeapUsage',
    )) as Record<string, number>;
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

  async #evaluate(expression: string): Promise<unknown> {
    const { result } = await this.#ask('Runtime.evaluate', { expression, returnByValue: true });
    return (result as { readonly value?: unknown }).value;
  }

  async #ask(method: string, params = {}): Promise<Readonly<Record<string, unknown>>> {
    this.#debugger ??= await this.#open();
    const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>();
    this.#debugger.once('message', (data) => resolve(JSON.parse(String(data)).result ?? {}));
    const timer = setTimeout(() => reject(new Error(`${method} did not end`)), COLLECT_MS);
    this.#debugger.send(JSON.stringify({ id: 1, method, params }));
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

/** A timer of a millisecond comes late by the turn that it waited for. */
const WATCH_TURNS = `{
  const cpu = () => {
    const { user, system } = process.threadCpuUsage?.() ?? { user: 0, system: 0 };
    return (user + system) / 1_000;
  };
  let turns = [];
  let last = cpu();
  let since = performance.now();
  setInterval(() => {
    const now = cpu();
    turns.push(now - last);
    last = now;
  }, 1).unref();
  globalThis.takeTurns = () => {
    const taken = [performance.now() - since, turns];
    turns = [];
    since = performance.now();
    return taken;
  };
}`;

function connect(address: string): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(address);
    socket.once('open', () => resolve(socket));
    socket.once('error', reject);
  });
}
