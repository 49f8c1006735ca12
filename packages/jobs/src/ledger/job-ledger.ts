// A ledger of jobs over tables of SQLite: the steps, and what is read.

import { isFinal, type Job, type JobFilter } from '@starloom/core';
import { jobNotFound } from '../job-document.ts';
import { failure } from '../reasons.ts';
import type { SqliteJobTables } from '../sqlite/sqlite-job-tables.ts';
import { JobSteps, type JobStepsOptions } from './job-steps.ts';

export class JobLedger extends JobSteps {
  readonly #tables: SqliteJobTables;

  constructor(tables: SqliteJobTables, options: JobStepsOptions = {}) {
    super(tables, options);
    this.#tables = tables;
  }

  get(id: string) {
    const job = this.#tables.get(id);
    return job && { job, result: this.#tables.result(id) };
  }

  callOf(id: string): string | undefined {
    return this.#tables.call(id);
  }

  list({ cursor, limit, ...filter }: JobFilter) {
    const before = cursor === undefined ? undefined : toPosition(cursor);
    return toPage(this.#tables.list({ ...filter, limit: limit + 1 }, before), limit);
  }

  events(id: string, after: number, limit: number): readonly string[] {
    const job = this.#tables.get(id);
    if (job === undefined) throw jobNotFound(id);
    assertCursor(job, after);
    return this.#tables.events(id, after, limit);
  }

  listDue(limit: number): readonly Job[] {
    return this.#tables.due(limit);
  }

  prune(before: number, limit: number, now: number): readonly string[] {
    this.#tables.dropKeys(now);
    const ids = this.#tables.endedBefore(before, now, limit);
    for (const id of ids) this.#tables.delete(id);
    return ids;
  }

  /** Deletes those of these jobs that are over, with their keys. */
  remove(ids: readonly string[]): readonly string[] {
    const over = ids.filter((id) => {
      const job = this.#tables.get(id);
      return job !== undefined && isFinal(job.state);
    });
    for (const id of over) {
      for (const purpose of ['run', 'webhook'] as const) this.#tables.deleteEntry(id, purpose);
      this.#tables.dropKeysOf(id);
      this.#tables.delete(id);
    }
    return over;
  }

  counts() {
    const oldest = this.#tables.oldestReady('run');
    const states = this.#tables.counts();
    return oldest === undefined ? { states } : { states, oldest_queued_at: oldest };
  }

  schedules() {
    return this.#tables.schedules().map(({ name, cron, timezone }) => ({ name, cron, timezone }));
  }
}

export function assertCursor(job: Job, after: number): void {
  if (Number.isInteger(after) && after >= 0 && after <= job.cursor) return;
  throw failure('bad_cursor', { job_id: job.id, cursor: job.cursor, after });
}

export function toPosition(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw failure('bad_cursor/page');
}

/** Of one row more than the page may have, where there are more. */
export function toPage(rows: readonly { job: Job; position: number }[], limit: number) {
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1)?.position : undefined;
  const jobs = page.map(({ job }) => job);
  return last === undefined ? { jobs } : { jobs, next: String(last) };
}
