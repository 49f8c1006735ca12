// Keeps the log short: once it is as large as what the last checkpoint wrote, every partition that
// changed since is written as a snapshot, a few parts with each batch, and then the log up to where
// that began is cut off. A snapshot says which record it includes last, so it does not matter that
// they are of different times. When one cannot be made, the log is kept and it is tried again later.

import { FabricError, type Log } from '@starloom/core';
import type { PartitionRecord } from '../engine/partition.ts';
import type { LogBatch, SnapshotRow } from './log-thread.ts';
import { toParts } from './partition-parts.ts';

const SMALLEST_LOG_BYTES = 8 * 1024 * 1024;
const BYTES_PER_PART = 64 * 1024;
const PARTS_PER_SLICE = 4;
/** Of a part: what making one takes, however little it holds, counts as so much. */
const LEAST_SHARE = 1 / 64;
/** Of what a batch brings to the log, when that is more: or the log would outgrow its checkpoint. */
const SHARE_PER_SLICE = 1 / 4;

export interface CheckpointOptions {
  /** A copy of the partition that later changes do not reach; `undefined` when it is gone. */
  readonly copy: (partition: string) => PartitionRecord | undefined;
  readonly log: Log;
  readonly smallestLogBytes?: number | undefined;
  readonly bytesPerPart?: number | undefined;
}

interface Run {
  /** Partitions whose snapshot is not complete yet. */
  readonly left: Set<string>;
  readonly rows: Iterator<SnapshotRow>;
  readonly sequence: number;
  readonly now: number;
  bytes: number;
  /** What came to the log since the last slice. */
  arrived: number;
}

type Slice = Pick<LogBatch, 'snapshots' | 'truncate'>;

export class LogCheckpoint {
  readonly #copy: CheckpointOptions['copy'];
  readonly #log: Log;
  readonly #smallestLogBytes: number;
  readonly #bytesPerPart: number;
  #changed = new Set<string>();
  #logBytes = 0;
  #lastBytes = 0;
  #sequence = 0;
  #run: Run | undefined;

  constructor({
    copy,
    log,
    smallestLogBytes = SMALLEST_LOG_BYTES,
    bytesPerPart = BYTES_PER_PART,
  }: CheckpointOptions) {
    this.#copy = copy;
    this.#log = log;
    this.#smallestLogBytes = smallestLogBytes;
    this.#bytesPerPart = bytesPerPart;
  }

  get isRunning(): boolean {
    return this.#run !== undefined;
  }

  noteRecord(partition: string, bytes: number): void {
    this.#changed.add(partition);
    this.#logBytes += bytes;
    if (this.#run !== undefined) this.#run.arrived += bytes;
  }

  noteSnapshot(bytes: number): void {
    this.#lastBytes += bytes;
  }

  /** What to write with a batch that ends with the record `sequence`. */
  slice(sequence: number, now: number): Slice {
    this.#sequence = sequence;
    this.#run ??= this.#begin(now);
    if (this.#run === undefined) return { snapshots: [] };
    const snapshots: SnapshotRow[] = [];
    try {
      return this.#fill(snapshots, this.#run);
    } catch (error) {
      this.#giveUp(this.#run, FabricError.from(error));
      return { snapshots };
    }
  }

  #begin(now: number): Run | undefined {
    if (this.#logBytes < Math.max(this.#smallestLogBytes, this.#lastBytes)) return undefined;
    const left = this.#changed;
    this.#changed = new Set();
    this.#logBytes = 0;
    return { left, rows: this.#rows(left), sequence: this.#sequence, now, bytes: 0, arrived: 0 };
  }

  #fill(snapshots: SnapshotRow[], run: Run): Slice {
    const least = LEAST_SHARE * this.#bytesPerPart;
    const enough = Math.max(PARTS_PER_SLICE * this.#bytesPerPart, SHARE_PER_SLICE * run.arrived);
    run.arrived = 0;
    for (let bytes = 0; bytes < enough; ) {
      const { value: row, done } = run.rows.next();
      if (done === true) return this.#end(snapshots, run);
      if (row.isLast) run.left.delete(row.partition);
      snapshots.push(row);
      bytes += Math.max(row.partition.length + row.text.length, least);
      run.bytes += row.text.length;
    }
    return { snapshots };
  }

  #end(snapshots: SnapshotRow[], { sequence, now, bytes }: Run): Slice {
    this.#run = undefined;
    this.#lastBytes = bytes;
    return { snapshots, truncate: { sequence, now } };
  }

  #giveUp({ left }: Run, error: FabricError): void {
    this.#run = undefined;
    for (const partition of left) this.#changed.add(partition);
    this.#log.error({ err: error }, 'no snapshot of the coordination store; its log is kept');
  }

  /** A partition is copied with the slice that its first part is in; that may be many slices on. */
  *#rows(partitions: Iterable<string>): Generator<SnapshotRow, void> {
    for (const partition of partitions) {
      const sequence = this.#sequence;
      let part = 0;
      for (const made of toParts(this.#copy(partition), this.#bytesPerPart)) {
        yield { partition, sequence, part, ...made };
        part += 1;
      }
    }
  }
}
