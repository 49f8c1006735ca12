// Keeps the log short: once it is as large as what the last checkpoint wrote, every partition that
// changed since is written as a snapshot, a few with each batch, and then the log up to where that
// began is cut off. A snapshot says which record it includes last, so it does not matter that they
// are of different times.

import type { LogBatch, SnapshotRow } from './log-messages.ts';

const SMALLEST_LOG_BYTES = 8 * 1024 * 1024;
const BYTES_PER_SLICE = 1024 * 1024;

export interface CheckpointOptions {
  /** The partition as text; `undefined` when it is gone. */
  readonly snapshot: (partition: string) => string | undefined;
  readonly smallestLogBytes?: number | undefined;
}

interface Run {
  readonly partitions: Iterator<string>;
  readonly sequence: number;
  readonly now: number;
  bytes: number;
}

export class Checkpoint {
  readonly #snapshot: (partition: string) => string | undefined;
  readonly #smallestLogBytes: number;
  #changed = new Set<string>();
  #logBytes = 0;
  #lastBytes = 0;
  #run: Run | undefined;

  constructor({ snapshot, smallestLogBytes = SMALLEST_LOG_BYTES }: CheckpointOptions) {
    this.#snapshot = snapshot;
    this.#smallestLogBytes = smallestLogBytes;
  }

  get isRunning(): boolean {
    return this.#run !== undefined;
  }

  noteRecord(partition: string, bytes: number): void {
    this.#changed.add(partition);
    this.#logBytes += bytes;
  }

  noteSnapshot(bytes: number): void {
    this.#lastBytes += bytes;
  }

  /** What to write with a batch that ends with the record `sequence`. */
  slice(sequence: number, now: number): Pick<LogBatch, 'snapshots' | 'truncate'> {
    this.#run ??= this.#begin(sequence, now);
    const run = this.#run;
    if (run === undefined) return { snapshots: [] };
    const snapshots: SnapshotRow[] = [];
    for (let bytes = 0; bytes < BYTES_PER_SLICE; ) {
      const { value: partition, done } = run.partitions.next();
      if (done === true) {
        this.#run = undefined;
        this.#lastBytes = run.bytes;
        return { snapshots, truncate: { sequence: run.sequence, now: run.now } };
      }
      const text = this.#snapshot(partition);
      snapshots.push({ partition, sequence, text });
      bytes += text?.length ?? 0;
      run.bytes += text?.length ?? 0;
    }
    return { snapshots };
  }

  #begin(sequence: number, now: number): Run | undefined {
    if (this.#logBytes < Math.max(this.#smallestLogBytes, this.#lastBytes)) return undefined;
    const partitions = this.#changed.values();
    this.#changed = new Set();
    this.#logBytes = 0;
    return { partitions, sequence, now, bytes: 0 };
  }
}
