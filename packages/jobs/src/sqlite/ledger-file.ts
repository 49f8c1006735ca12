// The file: a ledger whose steps are done in batches, each batch one transaction that is on disk before
// `run` returns. A step that is refused changes nothing, so it does not spoil its batch.

import { DatabaseSync } from 'node:sqlite';
import { FabricError, JobLedger } from '@starloom/core';
import { nextCron } from '../next-cron.ts';
import { APPLICATION_ID, FORMAT, PRAGMAS, SCHEMA } from './schema.ts';
import { SqliteJobTables } from './sqlite-job-tables.ts';
import { type LedgerReply, type LedgerStep, toProblem, WRITE_PROBE } from './thread-messages.ts';

export class LedgerFile {
  readonly #database: DatabaseSync;
  readonly #ledger: JobLedger;
  #failure: FabricError | undefined;

  /** Holds the file for itself until it is closed or the process ends, however that happens. */
  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    try {
      this.#prepare();
    } catch (error) {
      this.#database.close();
      throw error;
    }
    this.#ledger = new JobLedger(new SqliteJobTables(this.#database), { nextCron });
  }

  /** One reply per step, in order. */
  run(steps: readonly LedgerStep[]): readonly LedgerReply[] {
    if (this.#failure !== undefined) return this.#refuseAll(steps, this.#failure);
    try {
      this.#database.exec('BEGIN IMMEDIATE');
      const replies = steps.map((step) => this.#runOne(step));
      this.#database.exec('COMMIT');
      return replies;
    } catch (error) {
      return this.#refuseAll(steps, this.#undo(error));
    }
  }

  close(): void {
    this.#database.close();
  }

  #runOne({ method, args }: LedgerStep): LedgerReply {
    if (method === WRITE_PROBE) {
      this.#database.exec(`PRAGMA user_version = ${FORMAT}`);
      return { value: undefined };
    }
    try {
      const step = this.#ledger[method] as (...values: unknown[]) => unknown;
      return { value: step.apply(this.#ledger, [...args]) };
    } catch (error) {
      if (!FabricError.is(error)) throw error;
      return { problem: toProblem(error) };
    }
  }

  /** After a rollback the file is as before: a full disk can be used again once there is room. */
  #undo(error: unknown): FabricError {
    const problem = toEngineError(error);
    try {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
    } catch (cause) {
      this.#failure = toEngineError(cause);
    }
    if (problem.details.reason === 'corrupt') this.#failure = problem;
    return problem;
  }

  #refuseAll(steps: readonly LedgerStep[], error: FabricError): readonly LedgerReply[] {
    const problem = toProblem(error);
    return steps.map(() => ({ problem }));
  }

  #prepare(): void {
    this.#database.exec('PRAGMA locking_mode = EXCLUSIVE');
    const pragma = (name: string) => Number(this.#database.prepare(`PRAGMA ${name}`).get()?.[name]);
    const tables = this.#database.prepare('SELECT count(*) AS n FROM sqlite_schema').get();
    if (pragma('application_id') !== APPLICATION_ID && tables?.n !== 0) {
      throw engineError('foreign', 'The file is a database of another program');
    }
    if (pragma('user_version') > FORMAT) {
      throw engineError('newer_store', 'The file was written by a newer version');
    }
    this.#database.exec(PRAGMAS);
    this.#database.exec(SCHEMA);
    // The file is held by one process: workers of the process before are gone, whatever their leases.
    this.#database.exec(`UPDATE queue SET ready_at = 0 WHERE state = 'leased'`);
  }
}

/** By the primary result code of SQLite. */
const REASONS: Readonly<Record<number, readonly [string, string]>> = {
  5: ['in_use', 'Another process uses the job database'],
  8: ['read_only', 'The job database cannot be written'],
  10: ['io_error', 'The job database cannot be written'],
  11: ['corrupt', 'The job database is damaged'],
  13: ['disk_full', 'The disk of the job database is full'],
  14: ['unreachable', 'The job database cannot be opened'],
  26: ['foreign', 'The file is no job database'],
};

const FULL = 13;
/** SQLITE_IOERR_SHMSIZE: the index of the write-ahead log could not grow. */
const NO_ROOM_FOR_INDEX = 4874;

export function toEngineError(error: unknown): FabricError {
  if (FabricError.is(error)) return error;
  const extended = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
  const code = extended === NO_ROOM_FOR_INDEX ? FULL : extended & 0xff;
  const [reason, message] = REASONS[code] ?? ['engine_unavailable', 'The job database failed'];
  const text = error instanceof Error ? error.message : String(error);
  return engineError(reason, message, text);
}

function engineError(reason: string, message: string, cause = message): FabricError {
  return new FabricError('OVERLOADED', message, {
    details: { reason, cause, fix: FIXES[reason] ?? FIX },
  });
}

const WRITABLE =
  'Let the gateway write to the state folder, check its disk, then start the gateway again';
const FIX = 'Check the disk of the state folder, then start the gateway again';
const FIXES: Readonly<Record<string, string>> = {
  in_use: 'Stop the other gateway, or give this one a state folder of its own',
  read_only: WRITABLE,
  unreachable: WRITABLE,
  io_error: WRITABLE,
  disk_full: 'Free space on the disk of the state folder; no restart is needed',
  foreign: 'Move the file away, or set `jobs.path`',
  newer_store: 'Use the newer version of starloom',
};
