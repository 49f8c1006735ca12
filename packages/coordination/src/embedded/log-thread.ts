import { extname } from 'node:path';
import { FabricError } from '@starloom/core';
import { ThreadedFile } from '@starloom/wire';
import { failure } from '../reasons.ts';
import type { PartitionPart } from './partition-parts.ts';

/** Takes what the file holds, in order, while it is opened. */
export interface LogReader {
  snapshots(rows: readonly SnapshotRow[]): void;
  records(first: number, texts: readonly string[]): void;
}

type OpenedLog = Extract<LogReply, { kind: 'ready' }> & { readonly thread: LogThread };

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
      module: new URL(`./sqlite-log${extname(import.meta.url)}`, import.meta.url),
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

const THREAD_ENDED = {
  reason: 'engine_unavailable/file',
  message: 'the thread that writes it ended',
} as const;

export function toFabricError(path: string, problem: LogProblem, cause?: unknown): FabricError {
  return failure(problem.reason, { path, problem: problem.message }, { cause });
}

// The messages between the store and the thread that owns its file.

/** A part, counted from 0, of the snapshot of a partition as it was after the record `sequence`. */
export interface SnapshotRow extends PartitionPart {
  readonly partition: string;
  readonly sequence: number;
  readonly part: number;
}

/** Written in one transaction. */
export interface LogBatch {
  /** Numbered on from the last record. */
  readonly records: readonly string[];
  /** The parts of one snapshot in order, over as many batches as it takes. */
  readonly snapshots: readonly SnapshotRow[];
  /** Everything up to this record is in snapshots; the engine's time is kept with it. */
  readonly truncate?: { readonly sequence: number; readonly now: number } | undefined;
}

/** After opening: snapshots, then records in order, then `ready`; after that one `done` per write. */
export type LogReply =
  | { readonly kind: 'snapshots'; readonly rows: readonly SnapshotRow[] }
  | { readonly kind: 'records'; readonly first: number; readonly texts: readonly string[] }
  | {
      readonly kind: 'ready';
      /** The engine's time when the log was last shortened. */
      readonly now: number;
      /** Records at the end that could not be read and were cut off. */
      readonly torn: number;
      readonly missing: MissingRecords | undefined;
    }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly problem: LogProblem };

/** Records that were acknowledged and are not in the file. */
export interface MissingRecords {
  readonly first: number;
  readonly last: number;
}

export interface LogProblem {
  /** A row of the table of reasons. */
  readonly reason:
    | 'store_in_use'
    | 'not_a_store'
    | 'newer_store'
    | 'corrupt_store'
    | 'engine_unavailable/file';
  readonly message: string;
}
