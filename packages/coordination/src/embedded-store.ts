// The default engine: the state machine in this process, its operations in a SQLite file. What was
// answered is on disk; on opening, snapshots are read and the operations since are applied again.

import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, type Log, systemClock } from '@starloom/core';
import { closeToOthers } from '@starloom/wire';
import type { CoordinationStore, StoreWarning } from './coordination-store.ts';
import { LogCheckpoint } from './embedded/checkpoint.ts';
import {
  type LogReader,
  LogThread,
  type MissingRecords,
  type SnapshotRow,
  toFabricError,
} from './embedded/log-thread.ts';
import { PartitionReader } from './embedded/partition-parts.ts';
import { decodeRecord, SqliteJournal } from './embedded/sqlite-journal.ts';
import { CoordinationMachine } from './engine/coordination-machine.ts';
import type { AskedEventLimits } from './engine/event-log.ts';
import { engineTime, MachineStore } from './engine/machine-store.ts';
import { HEAD } from './partitions.ts';
import { inBatches } from './support/in-batches.ts';

export interface EmbeddedStoreOptions extends AskedEventLimits {
  /** Without one, nothing is written and everything is gone with the process. */
  readonly path?: string | undefined;
  readonly clock?: Clock | undefined;
  readonly log: Log;
  /** Below this the log is not replaced by snapshots. */
  readonly smallestLogBytes?: number | undefined;
  /** Snapshots are made and written in parts of about this size. */
  readonly bytesPerPart?: number | undefined;
}

export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<CoordinationStore> {
  const { path, clock = systemClock, log, smallestLogBytes, bytesPerPart } = options;
  const machine = new CoordinationMachine(options);
  if (path === undefined) return new MachineStore({ machine, now: engineTime(clock) });

  await createPrivateFile(path);
  const checkpoint = new LogCheckpoint({
    copy: (partition) => machine.toRecord(partition),
    log,
    smallestLogBytes,
    bytesPerPart,
  });
  const replay = new Replay(machine, checkpoint);
  const { thread, now, torn, missing } = await LogThread.open(path, replay);
  if (torn > 0) log.warn({ path, records: torn }, 'cut damaged records off the end of the log');
  const latest = Math.max(now, replay.now);
  const ahead_ms = latest - clock.now();
  if (ahead_ms > 1000) log.warn({ path, ahead_ms }, 'the clock is behind the coordination store');
  const folder = dirname(path);
  const journal = new SqliteJournal({ folder, thread, checkpoint, last: replay.last, log });
  const warnings = missing ? [lossOf(missing)] : [];
  const store = new MachineStore({
    machine,
    now: engineTime(clock, latest),
    journal,
    warnings,
  });
  if (missing) {
    log.error({ path, missing, kept_until: latest }, 'acknowledged coordination records are lost');
    await afterLoss(store, missing);
  }
  return store;
}

function lossOf({ first, last }: MissingRecords): StoreWarning {
  return {
    problem: `The coordination store lost its records ${first} to ${last}, which were acknowledged`,
    fix: 'restore the store from a backup, or check what the sessions hold; then restart',
  };
}

/** SQLite gives the files beside it the same mode. */
async function createPrivateFile(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = await open(path, 'a', 0o600);
    await file.close();
    const files = ['', '-wal', '-shm', '-mark'].map((ending) => path + ending);
    await Promise.all(files.map((each) => closeToOthers(each)));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw toFabricError(path, { reason: 'engine_unavailable/file', message }, error);
  }
}

/** One record may raise the version of its partition by several. */
const MARGIN = 1_000_000;

/**
 * Which partitions the lost records were about is not known, so all count as changed: readers of
 * their logs find a gap, a version that was given out is not given out again, and no expectation of
 * a context holds that was formed before.
 */
async function afterLoss(store: MachineStore, { first, last }: MissingRecords): Promise<void> {
  await inBatches(store.partitions(), async (partition) => {
    await store.skipVersions(partition, last - first + MARGIN);
    const head = (await store.read(partition, [HEAD])).entries.get(HEAD);
    if (head === undefined) return;
    await store.commit(partition, { writes: [{ kind: 'put', key: HEAD, value: head.value }] });
  });
}

/** Brings a machine to where the file says it was. */
class Replay implements LogReader {
  readonly #machine: CoordinationMachine;
  readonly #checkpoint: LogCheckpoint;
  readonly #reader = new PartitionReader();
  /** The last record that is in the snapshot of a partition. */
  readonly #included = new Map<string, number>();
  /** The last record there is. */
  last = 0;
  /** The latest time in the log. */
  now = 0;

  constructor(machine: CoordinationMachine, checkpoint: LogCheckpoint) {
    this.#machine = machine;
    this.#checkpoint = checkpoint;
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
    this.last = first + texts.length - 1;
  }

  #restore(partition: string, sequence: number): void {
    const record = this.#reader.take();
    if (record !== undefined) this.#machine.restore(partition, record);
    this.#included.set(partition, sequence);
  }

  #apply(sequence: number, text: string): void {
    const { partition, now, operation, args } = decodeRecord(text);
    this.now = now;
    this.#checkpoint.noteRecord(partition, text.length);
    if (sequence <= (this.#included.get(partition) ?? 0)) return;
    if (operation === 'drop') this.#machine.drop(partition, now);
    else this.#machine.apply(partition, now, operation, ...(args as never));
  }
}
