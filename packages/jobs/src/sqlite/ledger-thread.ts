// Group commit: while one batch is on its way to the disk, all that comes in waits for the next, so
// that any number of steps share one sync.

import { extname } from 'node:path';
import { FabricError } from '@starloom/core';
import { ThreadedFile } from '@starloom/wire';
import type { RemoteLedger } from '../ledger/ledger-engine.ts';
import {
  fromProblem,
  type LedgerReply,
  type LedgerStep,
  type ThreadReply,
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
  readonly #file: ThreadedFile<readonly LedgerStep[], ThreadReply>;
  readonly #opened = Promise.withResolvers<FabricError | undefined>();
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

  /** Why the file could not be opened yet; steps try again. */
  problem: FabricError | undefined;

  private constructor(path: string) {
    const module = new URL(`./ledger-worker${extname(import.meta.url)}`, import.meta.url);
    this.#file = new ThreadedFile({
      module,
      path,
      onReply: (reply) => this.#take(reply),
      onLost: (cause) => this.#fail(threadEnded(cause)),
    });
  }

  static async open(path: string): Promise<LedgerThread> {
    const thread = new LedgerThread(path);
    try {
      thread.problem = await thread.#opened.promise;
    } catch (error) {
      await thread.#file.close();
      throw error;
    }
    thread.#file.release();
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
    await this.#file.close();
    this.#fail(threadEnded());
  }

  #take(reply: ThreadReply): void {
    if (reply.kind === 'opened') this.#opened.resolve(reply.problem && fromProblem(reply.problem));
    else if (reply.kind === 'failed') this.#fail(fromProblem(reply.problem));
    else this.#settle(reply.replies);
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
      this.#file.release();
      return;
    }
    this.#file.hold();
    this.#file.send(this.#running.map(({ method, args }) => ({ method, args })));
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

  /** The first failure is the one that says why; it stays. */
  #fail(error: FabricError): void {
    this.#failure ??= error;
    this.#opened.reject(this.#failure);
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
