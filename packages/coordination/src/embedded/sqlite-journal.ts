// Group commit: while one batch is on its way to the disk, all that comes in waits in the next, so
// that any number of operations share one flush. When a batch cannot be written, memory is ahead of
// the disk; nothing is answered from it any more.

import { FabricError, type Log } from '@starloom/core';
import { type DiskRoom, diskFull, diskRoom } from '@starloom/wire';
import type { StoreWarning } from '../coordination-store.ts';
import type { Journal, JournalRecord } from '../engine/machine-store.ts';
import { failure } from '../reasons.ts';
import type { LogCheckpoint } from './checkpoint.ts';
import type { LogThread } from './log-thread.ts';

/** How long what is known of the disk holds. */
const LOOK_MS = 100;
/** What is written takes more: in the log of SQLite, in its file, as a snapshot. */
const ROOM_PER_BYTE = 4;
/** Heartbeats and the like go on for longer than what fills the disk. */
const SMALL_BYTES = 4 * 1024;

const MAX_WAITING_BYTES = 64 * 1024 * 1024;

export interface SqliteJournalOptions {
  readonly folder: string;
  readonly thread: LogThread;
  readonly checkpoint: LogCheckpoint;
  readonly last: number;
  readonly log: Log;
}

class Batch {
  readonly records: string[] = [];
  readonly partitions = new Set<string>();
  readonly #written = Promise.withResolvers<void>();
  readonly promise = this.#written.promise;
  readonly resolve = this.#written.resolve;
  readonly reject = this.#written.reject;
  bytes = 0;
  now = 0;
}

export class SqliteJournal implements Journal {
  readonly #options: SqliteJournalOptions;
  #last: number;
  #next = new Batch();
  /** Of partitions with something that is not on disk yet: the batch that brings the last of it. */
  readonly #unwritten = new Map<string, Batch>();
  #writing: Promise<void> | undefined;
  #isClosing = false;
  #failure: FabricError | undefined;
  #disk: DiskRoom | undefined;
  #lookedAt = 0;
  #sinceLook = 0;

  constructor(options: SqliteJournalOptions) {
    this.#options = options;
    this.#last = options.last;
  }

  get failure(): FabricError | undefined {
    return this.#failure ?? this.#options.thread.failure;
  }

  assertReady(): void {
    if (this.failure !== undefined) throw this.failure;
    if (this.#next.bytes < MAX_WAITING_BYTES) return;
    throw failure('engine_busy', { waiting_bytes: this.#next.bytes });
  }

  assertRoom(args: readonly unknown[]): void {
    const { room, kept } = this.#look();
    if (room > 0) return;
    if (room > -kept / 2 && JSON.stringify(args).length <= SMALL_BYTES) return;
    throw diskFull('coordination takes nothing more');
  }

  warnings(): readonly StoreWarning[] {
    if (this.#look().room > 0) return [];
    const { message: problem, details } = diskFull('coordination takes nothing large');
    return [{ problem, fix: String(details.fix) }];
  }

  #look(): DiskRoom {
    const now = performance.now();
    if (this.#disk === undefined || now - this.#lookedAt > LOOK_MS) {
      this.#disk = diskRoom(this.#options.folder);
      this.#lookedAt = now;
      this.#sinceLook = 0;
    }
    return { ...this.#disk, room: this.#disk.room - ROOM_PER_BYTE * this.#sinceLook };
  }

  append(record: JournalRecord): void {
    const { partition, now } = record;
    const text = encodeRecord(record);
    const batch = this.#next;
    batch.records.push(text);
    batch.partitions.add(partition);
    batch.bytes += text.length;
    this.#sinceLook += text.length;
    batch.now = now;
    this.#unwritten.set(partition, batch);
    this.#options.checkpoint.noteRecord(partition, text.length);
    this.#writing ??= endOfTurn().then(() => this.#writeAll());
  }

  flushed(partition: string): Promise<void> | undefined {
    return this.#unwritten.get(partition)?.promise;
  }

  /** A checkpoint that is under way is left as it is: the log has it all. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#writing;
    this.#failure ??= failure('engine_unavailable/closed');
    await this.#options.thread.close();
  }

  async #writeAll(): Promise<void> {
    while (this.#hasMore()) {
      const batch = this.#next;
      this.#next = new Batch();
      try {
        await this.#write(batch);
      } catch (error) {
        return this.#fail(FabricError.from(error), batch);
      }
      batch.resolve();
      this.#forget(batch);
    }
    this.#writing = undefined;
  }

  #hasMore(): boolean {
    return (
      this.#next.records.length > 0 || (this.#options.checkpoint.isRunning && !this.#isClosing)
    );
  }

  async #write({ records, now }: Batch): Promise<void> {
    this.#last += records.length;
    await this.#options.thread.write({
      records,
      ...this.#options.checkpoint.slice(this.#last, now),
    });
  }

  #fail(error: FabricError, batch: Batch): void {
    this.#failure = error;
    this.#options.log.error({ err: error, details: error.details }, 'coordination store failed');
    for (const waiting of [batch, this.#next]) {
      waiting.promise.catch(() => {});
      waiting.reject(error);
    }
  }

  #forget(batch: Batch): void {
    for (const partition of batch.partitions) {
      if (this.#unwritten.get(partition) === batch) this.#unwritten.delete(partition);
    }
  }
}

/** By then everything that came in with this turn of the event loop is in the batch. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** As one line of JSON. Maps of a commit become lists; all else is JSON already. */
export function encodeRecord({ partition, now, operation, args }: JournalRecord): string {
  return JSON.stringify([partition, now, operation, ...args.map(withoutMaps)]);
}

export function decodeRecord(text: string): JournalRecord {
  const [partition, now, operation, ...args] = JSON.parse(text);
  return { partition, now, operation, args: args.map(withMaps) };
}

function withoutMaps(arg: unknown): unknown {
  if (!hasKeyVersions(arg)) return arg;
  return { ...arg, ifKeys: arg.ifKeys && [...arg.ifKeys] };
}

function withMaps(arg: unknown): unknown {
  if (!hasKeyVersions(arg)) return arg;
  return { ...arg, ifKeys: new Map(arg.ifKeys) };
}

function hasKeyVersions(arg: unknown): arg is { ifKeys?: Iterable<[string, number]> } {
  return typeof arg === 'object' && arg !== null && 'ifKeys' in arg;
}
