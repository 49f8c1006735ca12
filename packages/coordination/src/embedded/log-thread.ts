import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { FabricError } from '@starloom/core';
import type {
  LogBatch,
  LogReply,
  LogRequest,
  MissingRecords,
  SnapshotRow,
} from './log-messages.ts';
import { toFabricError } from './log-problems.ts';

/** Takes what the file holds, in order, while it is opened. */
export interface LogReader {
  snapshots(rows: readonly SnapshotRow[]): void;
  records(first: number, texts: readonly string[]): void;
}

export interface OpenedLog {
  readonly thread: LogThread;
  /** The engine's time when the log was last shortened. */
  readonly now: number;
  /** Records at the end that could not be read and were cut off. */
  readonly torn: number;
  readonly missing: MissingRecords | undefined;
}

/** The file of a store, reached through the thread that owns it. One write at a time. */
export class LogThread {
  readonly #worker: Worker;
  readonly #exited: Promise<unknown>;
  #write: PromiseWithResolvers<void> | undefined;
  #failure: FabricError | undefined;

  private constructor(worker: Worker) {
    this.#worker = worker;
    this.#exited = once(worker, 'exit');
  }

  static async open(path: string, reader: LogReader): Promise<OpenedLog> {
    const url = new URL(`./log-worker${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(url, { workerData: path });
    const thread = new LogThread(worker);
    const opened = Promise.withResolvers<OpenedLog>();
    const fail = (error: FabricError) => {
      opened.reject(error);
      thread.#fail(error);
    };
    const take = (reply: LogReply) => {
      switch (reply.kind) {
        case 'snapshots':
          return reader.snapshots(reply.rows);
        case 'records':
          return reader.records(reply.first, reply.texts);
        case 'ready':
          return opened.resolve({ ...reply, thread });
        case 'done':
          return thread.#write?.resolve();
        case 'failed':
          return fail(toFabricError(path, reply.problem));
      }
    };
    worker.on('message', (reply: LogReply) => {
      try {
        take(reply);
      } catch (error) {
        fail(FabricError.from(error));
      }
    });
    const died = { reason: 'io', message: 'the thread that writes it ended' } as const;
    worker.on('error', (cause) => fail(toFabricError(path, died, cause)));
    worker.on('exit', () => fail(toFabricError(path, died)));
    try {
      return await opened.promise;
    } catch (error) {
      await worker.terminate();
      throw error;
    } finally {
      worker.unref();
    }
  }

  /** Why nothing can be written any more. */
  get failure(): FabricError | undefined {
    return this.#failure;
  }

  /** Resolves when the batch is on disk. Keeps the process alive until then. */
  async write(batch: LogBatch): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#write = Promise.withResolvers();
    this.#worker.ref();
    this.#send({ write: batch });
    try {
      await this.#write.promise;
    } finally {
      this.#worker.unref();
    }
  }

  async close(): Promise<void> {
    this.#worker.ref();
    this.#send({ close: true });
    await this.#exited;
  }

  #send(request: LogRequest): void {
    this.#worker.postMessage(request);
  }

  /** The first failure is the one that tells why; it stays. */
  #fail(error: FabricError): void {
    this.#failure ??= error;
    this.#write?.reject(this.#failure);
  }
}
