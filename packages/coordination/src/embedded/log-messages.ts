// What the store and the thread that owns its file say to each other.

import type { PartitionPart } from './partition-parts.ts';

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
      readonly now: number;
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
  readonly reason: 'in_use' | 'corrupt' | 'foreign' | 'newer' | 'io';
  readonly message: string;
}
