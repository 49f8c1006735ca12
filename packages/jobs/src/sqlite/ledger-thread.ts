// Group commit: while one batch is on its way to the disk, all that comes in waits for the next, so
// that any number of steps share one sync.

import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { FabricError, type RemoteLedger } from '@starloom/core';
import {
  fromProblem,
  type LedgerReply,
  type LedgerStep,
  type ThreadReply,
  type ThreadRequest,
  WRITE_PROBE,
} from './thread-messages.ts';

const MOST_STEPS = 1024;
/** Above this, new jobs are refused until the disk has caught up. */
const MOST_WAITING = 50_000;

interface Waiting extends LedgerStep {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export class LedgerThread {
  readonly #worker: Worker;
  readonly #exited: Promise<unknown>;
  readonly #waiting: Waiting[] = [];
  #running: readonly Waiting[] = [];
  #isScheduled = false;
  #failure: FabricError | undefined;

  /** By the methods of a ledger. */
  readonly ledger: RemoteLedger = new Proxy({} as RemoteLedger, {
    get: (_, method: LedgerStep['method']) => {
      return (...args: unknown[]) => this.#step(method, args);
    },
  });

  private constructor(worker: Worker) {
    this.#worker = worker;
    this.#exited = once(worker, 'exit');
  }

  static async open(path: string): Promise<LedgerThread> {
    const ending = extname(import.meta.url);
    const url = new URL(`./ledger-worker${ending}`, import.meta.url);
    // The launcher's resolve hook does not reach threads: source finds the other packages' source so.
    const execArgv = ending === '.ts' ? ['--conditions=@starloom/source'] : [];
    const worker = new Worker(url, { workerData: path, execArgv });
    const thread = new LedgerThread(worker);
    const opened = Promise.withResolvers<void>();
    const fail = (error: FabricError) => {
      opened.reject(error);
      thread.#fail(error);
    };
    worker.on('message', (reply: ThreadReply) => {
      switch (reply.kind) {
        case 'opened':
          return opened.resolve();
        case 'failed':
          return fail(fromProblem(reply.problem));
        case 'done':
          return thread.#settle(reply.replies);
      }
    });
    worker.on('error', (cause) => fail(threadEnded(cause)));
    worker.on('exit', () => fail(threadEnded()));
    try {
      await opened.promise;
    } catch (error) {
      await worker.terminate();
      throw error;
    } finally {
      worker.unref();
    }
    return thread;
  }

  /** Writes something; rejects when that is not possible. */
  async check(): Promise<void> {
    await this.#step(WRITE_PROBE, []);
  }

  async close(): Promise<void> {
    while (this.#running.length > 0 || this.#waiting.length > 0) {
      const last = this.#waiting.at(-1) ?? this.#running.at(-1);
      await new Promise<void>((resolve) => {
        if (last === undefined) return resolve();
        const { resolve: done, reject } = last;
        last.resolve = (value) => {
          done(value);
          resolve();
        };
        last.reject = (error) => {
          reject(error);
          resolve();
        };
      });
    }
    this.#worker.ref();
    this.#post({ close: true });
    await this.#exited;
  }

  #step(method: LedgerStep['method'], args: readonly unknown[]): Promise<unknown> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (method === 'create' && this.#waiting.length >= MOST_WAITING) return Promise.reject(busy());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ method, args, resolve, reject });
      if (this.#running.length > 0 || this.#isScheduled) return;
      this.#isScheduled = true;
      // By then everything that comes in with this turn of the event loop is in the batch.
      setImmediate(() => this.#send());
    });
  }

  #send(): void {
    this.#isScheduled = false;
    this.#running = this.#waiting.splice(0, MOST_STEPS);
    if (this.#running.length === 0) {
      this.#worker.unref();
      return;
    }
    this.#worker.ref();
    this.#post({ steps: this.#running.map(({ method, args }) => ({ method, args })) });
  }

  #settle(replies: readonly LedgerReply[]): void {
    const done = this.#running;
    this.#running = [];
    this.#send();
    for (const [index, { resolve, reject }] of done.entries()) {
      const reply = replies[index];
      if (reply === undefined) reject(threadEnded());
      else if ('problem' in reply) reject(fromProblem(reply.problem));
      else resolve(reply.value);
    }
  }

  #post(request: ThreadRequest): void {
    this.#worker.postMessage(request);
  }

  /** The first failure is the one that says why; it stays. */
  #fail(error: FabricError): void {
    this.#failure ??= error;
    for (const { reject } of [...this.#running, ...this.#waiting.splice(0)]) reject(this.#failure);
    this.#running = [];
  }
}

function busy(): FabricError {
  return new FabricError('OVERLOADED', 'The disk does not keep up with new jobs', {
    details: { reason: 'engine_busy', fix: 'Try again' },
  });
}

function threadEnded(cause?: unknown): FabricError {
  return new FabricError('OVERLOADED', 'The job database is closed', {
    details: { reason: 'engine_unavailable', fix: 'Start the gateway again' },
    ...(cause !== undefined && { cause }),
  });
}
