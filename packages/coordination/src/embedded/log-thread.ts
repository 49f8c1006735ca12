import { extname } from 'node:path';
import { FabricError } from '@starloom/core';
import { ThreadedFile } from '@starloom/wire';
import type {
  LogBatch,
  LogProblem,
  LogReply,
  MissingRecords,
  SnapshotRow,
} from './log-messages.ts';

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
  readonly #file: ThreadedFile<LogBatch, LogReply>;
  readonly #path: string;
  readonly #reader: LogReader;
  readonly #opened = Promise.withResolvers<OpenedLog>();
  #write: PromiseWithResolvers<void> | undefined;
  #failure: FabricError | undefined;

  private constructor(path: string, reader: LogReader) {
    this.#path = path;
    this.#reader = reader;
    this.#file = new ThreadedFile({
      module: new URL(`./log-worker${extname(import.meta.url)}`, import.meta.url),
      path,
      onReply: (reply) => {
        try {
          this.#take(reply);
        } catch (error) {
          this.#fail(FabricError.from(error));
        }
      },
      onLost: (cause) => this.#fail(toFabricError(path, THREAD_ENDED, cause)),
    });
  }

  static async open(path: string, reader: LogReader): Promise<OpenedLog> {
    const thread = new LogThread(path, reader);
    try {
      return await thread.#opened.promise;
    } catch (error) {
      await thread.#file.close();
      throw error;
    } finally {
      thread.#file.release();
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
    this.#file.hold();
    this.#file.send(batch);
    try {
      await this.#write.promise;
    } finally {
      this.#file.release();
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
    this.#fail(toFabricError(this.#path, THREAD_ENDED));
  }

  #take(reply: LogReply): void {
    const { kind } = reply;
    if (kind === 'snapshots') this.#reader.snapshots(reply.rows);
    else if (kind === 'records') this.#reader.records(reply.first, reply.texts);
    else if (kind === 'ready') this.#opened.resolve({ ...reply, thread: this });
    else if (kind === 'done') this.#write?.resolve();
    else this.#fail(toFabricError(this.#path, reply.problem));
  }

  /** The first failure is the one that says why; it stays. */
  #fail(error: FabricError): void {
    this.#failure ??= error;
    this.#opened.reject(this.#failure);
    this.#write?.reject(this.#failure);
  }
}

const THREAD_ENDED = { reason: 'io', message: 'the thread that writes it ended' } as const;

/** What a problem with the file means for the operator of the gateway. */
export function toFabricError(path: string, problem: LogProblem, cause?: unknown): FabricError {
  const { code, message, reason, fix } = PROBLEMS[problem.reason];
  return new FabricError(code, message, {
    details: { reason, path, problem: problem.message, fix: fix(path) },
    cause,
  });
}

const PROBLEMS = {
  in_use: {
    code: 'BAD_INPUT',
    message: 'Another process uses this coordination store',
    reason: 'store_in_use',
    fix: () => 'stop the other process, give this one its own path, or share a Redis store',
  },
  foreign: {
    code: 'BAD_INPUT',
    message: 'This file is not a coordination store',
    reason: 'not_a_store',
    fix: () => 'name another path',
  },
  newer: {
    code: 'BAD_INPUT',
    message: 'This coordination store was written by a newer version',
    reason: 'newer_store',
    fix: () => 'run the newer version, or name another path',
  },
  corrupt: {
    code: 'INTERNAL',
    message: 'The coordination store is damaged',
    reason: 'corrupt_store',
    fix: (path: string) => `restore ${path} from a backup, or move it away to start empty`,
  },
  io: {
    code: 'OVERLOADED',
    message: 'The coordination store cannot be written',
    reason: 'engine_unavailable',
    fix: (path: string) => `make room on the disk, or correct the permissions of ${path}`,
  },
} as const satisfies Record<LogProblem['reason'], object>;
