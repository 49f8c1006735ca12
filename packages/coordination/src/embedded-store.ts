// The default engine: the state machine in this process, its operations in a SQLite file. What was
// answered is on disk; on opening, snapshots are read and the operations since are applied again.

import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, type Log, systemClock } from '@starloom/core';
import { closeToOthers } from '@starloom/wire';
import type { CoordinationStore, StoreWarning } from './coordination-store.ts';
import { afterLoss } from './embedded/after-loss.ts';
import { LogCheckpoint } from './embedded/checkpoint.ts';
import type { MissingRecords } from './embedded/log-messages.ts';
import { toFabricError } from './embedded/log-problems.ts';
import { LogThread } from './embedded/log-thread.ts';
import { Replay } from './embedded/replay.ts';
import { SqliteJournal } from './embedded/sqlite-journal.ts';
import { CoordinationMachine } from './engine/coordination-machine.ts';
import { engineTime } from './engine/engine-time.ts';
import type { AskedEventLimits } from './engine/event-log.ts';
import { MachineStore } from './engine/machine-store.ts';

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
    throw toFabricError(path, { reason: 'io', message }, error);
  }
}
