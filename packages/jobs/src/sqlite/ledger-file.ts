// The file: a ledger whose steps are done in batches, each batch one transaction that is on disk before
// `run` returns. A step that is refused changes nothing, so it does not spoil its batch. New jobs are
// refused before the disk is full; for what else there is no room, the folder has a reserve.

import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FabricError } from '@starloom/core';
import { diskFull, diskRoom, isDiskFull, logPages, releaseReserve } from '@starloom/wire';
import { JobLedger } from '../ledger/job-ledger.ts';
import type { LedgerNewJob } from '../ledger/job-steps.ts';
import {
  type LedgerReply,
  type LedgerStep,
  runStep,
  toProblem,
  WRITE_PROBE,
} from '../ledger/step-batches.ts';
import {
  APPLICATION_ID,
  COUNT_USAGE,
  FORMAT,
  MOST_LOG_PAGES,
  NEW_FILE,
  PRAGMAS,
  SCHEMA,
} from './schema.ts';
import { SqliteJobTables } from './sqlite-job-tables.ts';

/** Of the disk, for the jobs of one principal. */
const PRINCIPAL_SHARE = 1 / 4;
/** A new job takes a few times its call, in the log and in the file, and some pages. */
const ROOM_PER_BYTE = 3;
const ROOM_PER_JOB = 32 * 1024;
/** Steps after which pages may be free. */
const FREEING: ReadonlySet<string> = new Set(['requestCancel', 'finish', 'prune']);
/** So many are given back to the disk at a time: few while it is full. */
const FEW_PAGES = 16;
const MANY_PAGES = 4096;

export class LedgerFile {
  readonly #folder: string;
  readonly #database: DatabaseSync;
  readonly #ledger: JobLedger;
  #failure: FabricError | undefined;
  /** For new jobs of the batch. */
  #room = 0;

  /** Holds the file for itself until it is closed or the process ends, however that happens. */
  constructor(path: string) {
    this.#folder = dirname(path);
    createPrivateFiles(path);
    this.#database = new DatabaseSync(path);
    const tables = new SqliteJobTables(this.#database);
    try {
      this.#prepare();
    } catch (error) {
      this.#database.close();
      throw error;
    }
    const mostBytes = diskRoom(this.#folder).size * PRINCIPAL_SHARE;
    this.#ledger = new JobLedger(tables, { mostBytes });
  }

  /** One reply per step, in order. */
  run(steps: readonly LedgerStep[], isTight = false): readonly LedgerReply[] {
    if (this.#failure !== undefined) return this.#refuseAll(steps, this.#failure);
    try {
      this.#room = isTight ? 0 : diskRoom(this.#folder).room;
      this.#database.exec('BEGIN IMMEDIATE');
      const replies = steps.map((step) => this.#runOne(step));
      this.#database.exec('COMMIT');
      if (steps.some(({ method }) => FREEING.has(method))) this.#giveBack();
      return replies;
    } catch (error) {
      const problem = this.#undo(error);
      const isFull = problem.details.reason === 'disk_full';
      const mayRetry = isFull && steps.some(({ method }) => method !== 'create');
      if (mayRetry && releaseReserve(this.#folder)) return this.run(steps, true);
      return this.#refuseAll(steps, problem);
    }
  }

  close(): void {
    this.#database.close();
  }

  #runOne(step: LedgerStep): LedgerReply {
    if (step.method === WRITE_PROBE) {
      this.#database.exec(`PRAGMA user_version = ${FORMAT}`);
      const isLow = this.#room < ROOM_PER_JOB;
      return isLow ? { problem: toProblem(noNewJobs()) } : { value: undefined };
    }
    if (step.method === 'create') {
      const refusal = this.#takeRoom(step.args[0] as LedgerNewJob);
      if (refusal) return { problem: toProblem(refusal) };
    }
    return runStep(this.#ledger, step);
  }

  #takeRoom({ call }: LedgerNewJob): FabricError | undefined {
    this.#room -= ROOM_PER_JOB + ROOM_PER_BYTE * call.length;
    return this.#room < 0 ? noNewJobs() : undefined;
  }

  /**
   * Pages are moved through the log beside the file, and the file is cut off when the log is written to
   * it. While there is room, free pages are better kept for jobs to come.
   */
  #giveBack(): void {
    if (this.#pragma('auto_vacuum') === 0) return;
    const isLow = this.#room <= 0;
    const pages = isLow ? FEW_PAGES : MANY_PAGES;
    const least = isLow ? FEW_PAGES : Math.max(MANY_PAGES, this.#pragma('page_count') / 2);
    try {
      for (let left = MANY_PAGES; left > 0; left -= pages) {
        if (this.#pragma('freelist_count') < least) return;
        this.#database.exec(`PRAGMA incremental_vacuum(${pages})`);
        this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      }
    } catch (error) {
      this.#undo(error);
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
    const tables = this.#database.prepare('SELECT count(*) AS n FROM sqlite_schema').get();
    const isOurs = this.#pragma('application_id') === APPLICATION_ID;
    if (!isOurs && tables?.n !== 0) {
      throw engineError('foreign', 'The file is a database of another program');
    }
    if (this.#pragma('user_version') > FORMAT) {
      throw engineError('newer_store', 'The file was written by a newer version');
    }
    // Nothing is written that is there: on a full disk, too, jobs can be read and cancelled.
    if (!isOurs) this.#database.exec(NEW_FILE);
    this.#database.exec(PRAGMAS);
    const pages = logPages(this.#folder, MOST_LOG_PAGES);
    this.#database.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
    this.#database.exec(`PRAGMA journal_size_limit = ${pages * 4096}`);
    this.#database.exec(SCHEMA);
    this.#database.exec(COUNT_USAGE);
    // The file is held by one process: workers of the process before are gone, whatever their leases.
    this.#database.exec(`UPDATE queue SET ready_at = 0 WHERE state = 'leased' AND ready_at <> 0`);
  }

  #pragma(name: string): number {
    return Number(this.#database.prepare(`PRAGMA ${name}`).get()?.[name]);
  }
}

function noNewJobs(): FabricError {
  return diskFull('new jobs are refused');
}

/** SQLite gives the files beside it the same mode. */
function createPrivateFiles(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
  if (process.platform === 'win32') return;
  chmodSync(dirname(path), 0o700);
  for (const file of ['', '-wal', '-shm'].map((ending) => path + ending)) {
    if (existsSync(file)) chmodSync(file, 0o600);
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
  if (isDiskFull(error)) return diskFull('the job database cannot be written');
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
