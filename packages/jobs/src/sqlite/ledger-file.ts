// The file: a ledger whose steps are done in batches, each batch one transaction that is on disk before
// `run` returns. A step that is refused changes nothing, so it does not spoil its batch. New jobs are
// refused before the disk is full; for what else there is no room, the folder has a reserve.

import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FabricError } from '@starloom/core';
import {
  createPrivateFiles,
  diskFull,
  diskRoom,
  type FileService,
  logPages,
  releaseReserve,
  sqliteReason,
} from '@starloom/wire';
import { JobLedger } from '../ledger/job-ledger.ts';
import type { LedgerNewJob } from '../ledger/job-steps.ts';
import {
  type LedgerReply,
  type LedgerStep,
  type Problem,
  runStep,
  toProblem,
  WRITE_PROBE,
} from '../ledger/step-batches.ts';
import { failure } from '../reasons.ts';
import {
  APPLICATION_ID,
  COUNT_USAGE,
  FORMAT,
  MAX_LOG_PAGES,
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
/** So many are given back to the disk at a time, few while it is full; and so many are kept while it is not. */
const FEW_PAGES = 16;
const MANY_PAGES = 256;
const KEPT_PAGES = 4096;

export class LedgerFile {
  readonly #folder: string;
  readonly #database: DatabaseSync;
  readonly #ledger: JobLedger;
  #failure: FabricError | undefined;
  /** For new jobs of the batch. */
  #room = 0;
  #mayHaveSpare = false;

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
      this.#mayHaveSpare ||= steps.some(({ method }) => FREEING.has(method));
      return replies;
    } catch (error) {
      const problem = this.#undo(error);
      const isFull = problem.details.reason === 'disk_full';
      const mayRetry = isFull && steps.some(({ method }) => method !== 'create');
      if (mayRetry && releaseReserve(this.#folder)) return this.run(steps, true);
      return this.#refuseAll(steps, problem);
    }
  }

  /**
   * A few free pages go back to the disk; true while there are more. They are moved through the log beside the file,
   * and the file is cut off when the log is written to it. While there is room, free pages are better kept for jobs
   * to come.
   */
  giveBack(): boolean {
    if (!this.#mayHaveSpare) return false;
    this.#mayHaveSpare = false;
    if (this.#failure !== undefined || this.#pragma('auto_vacuum') === 0) return false;
    const isLow = this.#room <= 0;
    const kept = isLow ? FEW_PAGES : Math.max(KEPT_PAGES, this.#pragma('page_count') / 2);
    if (this.#pragma('freelist_count') < kept) return false;
    try {
      this.#database.exec(`PRAGMA incremental_vacuum(${isLow ? FEW_PAGES : MANY_PAGES})`);
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      this.#mayHaveSpare = true;
    } catch (error) {
      this.#undo(error);
    }
    return this.#mayHaveSpare;
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
      throw failure('foreign');
    }
    if (this.#pragma('user_version') > FORMAT) {
      throw failure('newer_store');
    }
    // Nothing is written that is there: on a full disk, too, jobs can be read and cancelled.
    if (!isOurs) this.#database.exec(NEW_FILE);
    this.#database.exec(PRAGMAS);
    const pages = logPages(this.#folder, MAX_LOG_PAGES);
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

export function toEngineError(error: unknown): FabricError {
  if (FabricError.is(error)) return error;
  const reason = sqliteReason(error);
  if (reason === 'disk_full') return diskFull('the job database cannot be written');
  const cause = error instanceof Error ? error.message : String(error);
  return failure(reason ?? 'engine_unavailable', { cause });
}

export type ThreadReply =
  /** With a problem: the disk is full, and the file is opened as soon as it can be. */
  | { readonly kind: 'opened'; readonly problem?: Problem }
  | { readonly kind: 'failed'; readonly problem: Problem }
  | { readonly kind: 'done'; readonly replies: readonly LedgerReply[] };

export const service: FileService<readonly LedgerStep[], ThreadReply> = {
  open(path, reply) {
    let file: LedgerFile | undefined;
    let problem: Problem | undefined;
    const open = () => {
      try {
        file = new LedgerFile(path);
      } catch (error) {
        problem = toProblem(toEngineError(error));
      }
    };
    open();
    const isGone = problem !== undefined && problem.details.reason !== 'disk_full';
    if (problem && isGone) reply({ kind: 'failed', problem });
    else reply({ kind: 'opened', ...(problem && { problem }) });
    return {
      take(steps) {
        // A disk that was full may have room by now.
        if (!file) open();
        const refused = problem ? steps.map(() => ({ problem: problem as Problem })) : [];
        reply({ kind: 'done', replies: file?.run(steps) ?? refused });
      },
      tidy: () => file?.giveBack() ?? false,
      close: () => file?.close(),
    };
  },
};
