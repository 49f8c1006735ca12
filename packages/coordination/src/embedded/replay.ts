import type { CoordinationMachine } from '../engine/coordination-machine.ts';
import type { OperationName, Operations } from '../engine/operations.ts';
import type { LogCheckpoint } from './checkpoint.ts';
import { decodeRecord } from './journal-record.ts';
import type { SnapshotRow } from './log-messages.ts';
import type { LogReader } from './log-thread.ts';
import { PartitionReader } from './partition-parts.ts';

/** Brings a machine to where the file says it was. */
export class Replay implements LogReader {
  readonly #machine: CoordinationMachine;
  readonly #checkpoint: LogCheckpoint;
  readonly #reader = new PartitionReader();
  /** The last record that is in the snapshot of a partition. */
  readonly #included = new Map<string, number>();
  #last = 0;
  #now = 0;

  constructor(machine: CoordinationMachine, checkpoint: LogCheckpoint) {
    this.#machine = machine;
    this.#checkpoint = checkpoint;
  }

  /** The last record there is. */
  get last(): number {
    return this.#last;
  }

  /** The latest time in the log. */
  get now(): number {
    return this.#now;
  }

  snapshots(rows: readonly SnapshotRow[]): void {
    for (const { partition, sequence, isLast, text } of rows) {
      this.#checkpoint.noteSnapshot(text.length);
      this.#reader.add(text);
      if (isLast) this.#restore(partition, sequence);
    }
  }

  records(first: number, texts: readonly string[]): void {
    for (const [index, text] of texts.entries()) this.#apply(first + index, text);
    this.#last = first + texts.length - 1;
  }

  #restore(partition: string, sequence: number): void {
    const record = this.#reader.take();
    if (record !== undefined) this.#machine.restore(partition, record);
    this.#included.set(partition, sequence);
  }

  #apply(sequence: number, text: string): void {
    const { partition, now, operation, args } = decodeRecord(text);
    this.#now = now;
    this.#checkpoint.noteRecord(partition, text.length);
    if (sequence <= (this.#included.get(partition) ?? 0)) return;
    if (operation === 'drop') this.#machine.drop(partition, now);
    else applyAny(this.#machine, partition, now, operation, args);
  }
}

/** The record says which operation it was; its arguments are those that operation was given. */
function applyAny<Name extends OperationName>(
  machine: CoordinationMachine,
  partition: string,
  now: number,
  operation: Name,
  args: readonly unknown[],
): void {
  machine.apply(partition, now, operation, ...(args as Operations[Name]['args']));
}
