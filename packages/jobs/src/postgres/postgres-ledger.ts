// The ledger in Postgres, for any number of gateways. A batch of steps is one transaction: it locks the
// rows of its jobs, lets `JobSteps` change them in memory, and writes them back.

import {
  type ClaimOptions,
  FabricError,
  type Job,
  type JobFilter,
  normalName,
} from '@starloom/core';
import type { Database } from '@starloom/wire/postgres';
import { jobNotFound } from '../job-document.ts';
import { assertCursor, toPage, toPosition } from '../ledger/job-ledger.ts';
import { type Held, JobSteps, type LedgerNewJob } from '../ledger/job-steps.ts';
import { toCounts, toJob, toNumbers, toSchedule } from '../ledger/job-tables.ts';
import { READY } from '../ledger/ledger-engine.ts';
import {
  type LedgerReply,
  type LedgerStep,
  runStep,
  StepBatches,
  toProblem,
} from '../ledger/step-batches.ts';
import type { JobEnd } from '../transitions.ts';
import { isId, notify, toText } from './job-rows.ts';
import { LoadedTables, type Needs } from './loaded-tables.ts';
import { SCHEMA_NAME as S } from './schema.ts';

export class PostgresLedger {
  readonly #database: Database;
  readonly #batches = new StepBatches((steps) => this.#run(steps));

  readonly ledger = this.#batches.toLedger({
    get: (id) => this.#get(id),
    callOf: async (id) => (await this.#get(id))?.call,
    list: (filter) => this.#list(filter),
    events: (id, after, limit) => this.#events(id, after, limit),
    listDue: (limit) => this.#listDue(limit),
    counts: () => this.#counts(),
    schedules: () => this.#schedules(),
    claim: (options, now) => this.#claim(options, now),
    prune: (before, limit, now) => this.#prune(before, limit, now),
    remove: (ids) => this.#remove(ids),
    schedule: (row, now) => this.#schedule((steps) => steps.schedule(row, now)),
    unschedule: (name) => this.#schedule((steps) => steps.unschedule(name)),
  });

  constructor(database: Database) {
    this.#database = database;
  }

  async check(): Promise<void> {
    await this.#database.transact((session) => notify(session, [READY]));
  }

  idle(): Promise<void> {
    return this.#batches.idle();
  }

  async #run(steps: readonly LedgerStep[]): Promise<readonly LedgerReply[]> {
    try {
      return await this.#database.transact(async (session) => {
        const tables = await LoadedTables.load(session, needsOf(steps));
        const ledger = new JobSteps(tables);
        const replies = steps.map((step) => runStep(ledger, step));
        await tables.save(session);
        return replies;
      });
    } catch (error) {
      const problem = FabricError.from(error);
      if (problem.code === 'OVERLOADED') throw problem;
      if (steps.length === 1) return [{ problem: toProblem(problem) }];
      // Postgres refuses what one of the steps writes: the others must not fail with it.
      const alone: LedgerReply[] = [];
      for (const step of steps) alone.push(...(await this.#run([step])));
      return alone;
    }
  }

  #claim(options: ClaimOptions, now: number) {
    const { purpose = 'run', limit, perAgent } = options;
    return this.#database.transact(async (session) => {
      const ready = { purpose, limit, perAgent, now };
      const tables = await LoadedTables.loadReady(session, ready);
      const claims = new JobSteps(tables).claim(options, now);
      await tables.save(session);
      return claims;
    });
  }

  #schedule(change: (steps: JobSteps) => void): Promise<void> {
    return this.#database.transact(async (session) => {
      const tables = await LoadedTables.loadSchedules(session);
      change(new JobSteps(tables));
      await tables.save(session);
    });
  }

  async #schedules() {
    const rows = await this.#database.query(`SELECT * FROM ${S}.schedule ORDER BY name`);
    return rows.map(toSchedule).map(({ name, cron, timezone }) => ({ name, cron, timezone }));
  }

  async #get(id: string) {
    if (!isId(id)) return undefined;
    const sql = `SELECT record, call, result FROM ${S}.job WHERE id = $1`;
    const [row] = await this.#database.query(sql, [id]);
    if (row === undefined) return undefined;
    const result: string | undefined = row.result ?? undefined;
    return { job: toJob(row), call: String(row.call), result };
  }

  async #list({ principalId, state, capability, limit, cursor }: JobFilter) {
    const rows = await this.#database.query(
      `SELECT position, record FROM ${S}.job WHERE ($1::text IS NULL OR principal = $1)
         AND ($2::bigint IS NULL OR position < $2) AND ($3::text IS NULL OR state = $3)
         AND ($4::text IS NULL OR replace(capability, ':', '.') = $4)
       ORDER BY position DESC LIMIT $5`,
      [
        principalId === undefined ? null : toText(principalId),
        cursor === undefined ? null : toPosition(cursor),
        state ?? null,
        capability === undefined ? null : toText(normalName(capability)),
        limit + 1,
      ],
    );
    const listed = rows.map((row) => ({ job: toJob(row), position: Number(row.position) }));
    return toPage(listed, limit);
  }

  /** The job and its events, from one snapshot. */
  async #events(id: string, after: number, limit: number): Promise<readonly string[]> {
    if (!isId(id)) throw jobNotFound(id);
    const [row] = await this.#database.query(
      `SELECT job.record, array(
         SELECT text FROM ${S}.event WHERE event.position = job.position AND number > $2
         ORDER BY number LIMIT $3) AS texts
       FROM ${S}.job WHERE id = $1`,
      [id, Number.isSafeInteger(after) ? after : -1, limit],
    );
    if (row === undefined) throw jobNotFound(id);
    assertCursor(toJob(row), after);
    return row.texts;
  }

  async #listDue(limit: number): Promise<readonly Job[]> {
    const sql = `SELECT record FROM ${S}.job WHERE due ORDER BY position LIMIT $1`;
    return (await this.#database.query(sql, [limit])).map(toJob);
  }

  async #counts() {
    const rows = await this.#database.query(
      `SELECT state, count(*) AS n FROM ${S}.job WHERE finished_at IS NULL GROUP BY state
       UNION ALL SELECT state, count(*) FROM ${S}.job WHERE finished_at IS NOT NULL GROUP BY state`,
    );
    const states = toCounts(toNumbers(rows, 'state'));
    const sql = `SELECT min(ready_at) AS at FROM ${S}.job WHERE queue = 'run' AND place = 'ready'`;
    const [oldest] = await this.#database.query(sql);
    return oldest?.at == null ? { states } : { states, oldest_queued_at: Number(oldest.at) };
  }

  #prune(before: number, limit: number, now: number): Promise<readonly string[]> {
    return this.#database.transact(async (session) => {
      await session.query(`DELETE FROM ${S}.idempotency WHERE expires_at <= $1`, [now]);
      const rows = await session.query(
        `WITH old AS (
           SELECT position FROM ${S}.job WHERE finished_at < $1 AND queue IS NULL
             AND NOT EXISTS (SELECT 1 FROM ${S}.idempotency WHERE job_id = job.id)
           ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED
         ), gone AS (DELETE FROM ${S}.event WHERE position IN (SELECT position FROM old))
         DELETE FROM ${S}.job WHERE position IN (SELECT position FROM old) RETURNING id`,
        [before, limit],
      );
      return rows.map(({ id }) => String(id));
    });
  }

  #remove(ids: readonly string[]): Promise<readonly string[]> {
    return this.#database.transact(async (session) => {
      const rows = await session.query(
        `WITH over AS (
           SELECT position, id FROM ${S}.job WHERE id = ANY($1) AND finished_at IS NOT NULL FOR UPDATE
         ), events AS (DELETE FROM ${S}.event WHERE position IN (SELECT position FROM over)),
         keys AS (DELETE FROM ${S}.idempotency WHERE job_id IN (SELECT id FROM over))
         DELETE FROM ${S}.job WHERE position IN (SELECT position FROM over) RETURNING id`,
        [ids],
      );
      return rows.map(({ id }) => String(id));
    });
  }
}

/** By the arguments of the methods of `JobSteps`. */
function needsOf(steps: readonly LedgerStep[]): Needs {
  const ids: string[] = [];
  const texts: string[] = [];
  const created: LedgerNewJob[] = [];
  for (const { method, args } of steps) {
    const [first] = args;
    if (method === 'create') created.push(first as LedgerNewJob);
    else if (method === 'renew') ids.push(...(first as readonly Held[]).map(({ id }) => id));
    else {
      const id = typeof first === 'string' ? first : (first as Held).id;
      ids.push(id);
      const isCancelled = method === 'finish' && (args[1] as JobEnd).state === 'cancelled';
      if (isCancelled || method === 'requestCancel') texts.push(id);
    }
  }
  return { ids, texts, created };
}
