// The rows that a transaction works on: read and locked first, changed in memory by the steps of jobs,
// then written. A row of a job is written only by a transaction that has it locked.

import type { Job, JobQuota, QueuePurpose } from '@starloom/core';
import type { DatabaseSession } from '@starloom/wire/postgres';
import type { LedgerNewJob } from '../ledger/job-steps.ts';
import {
  AgentTurns,
  type KeyRow,
  type QueueEntry,
  type ScheduleRow,
  type StepTables,
  storedBytes,
  toKeyRow,
  toNumbers,
  toSchedule,
} from '../ledger/job-tables.ts';
import { READY } from '../ledger/ledger-engine.ts';
import {
  insertJobs,
  isId,
  JOB,
  type LoadedJob,
  many,
  notify,
  toLoaded,
  toText,
  updateJobs,
  wakeJobs,
} from './job-rows.ts';
import { CHANNEL, SCHEMA_NAME as S } from './schema.ts';

export interface Needs {
  readonly ids: readonly string[];
  /** Those of `ids` whose call and result are needed too. */
  readonly texts: readonly string[];
  readonly created: readonly LedgerNewJob[];
}

/** Claims with a bound per agent are made one after the other. */
const CLAIM_LOCK = 7_420_151;

export class LoadedTables implements StepTables {
  readonly #jobs = new Map<string, LoadedJob>();
  readonly #changed = new Set<LoadedJob>();
  readonly #freed = new Map<string, string>();
  readonly #events: [position: string, number: number, text: string][] = [];
  readonly #keys = new Map<string, KeyRow>();
  readonly #newKeys: (readonly unknown[])[] = [];
  readonly #usage = new Map<string, JobQuota>();
  readonly #hints = new Set<string>();
  #schedules: readonly ScheduleRow[] = [];
  readonly #newSchedules: (readonly unknown[])[] = [];
  readonly #goneSchedules: (readonly unknown[])[] = [];
  #turns: AgentTurns | undefined;

  /** For steps that name their jobs. */
  static async load(session: DatabaseSession, needs: Needs): Promise<LoadedTables> {
    const tables = new LoadedTables();
    const { ids, texts, created } = needs;
    const keyed = await tables.#loadPrincipals(session, created);
    await tables.#loadJobs(session, [...ids, ...keyed], [...texts, ...keyed]);
    return tables;
  }

  /** For `claim`: jobs that may be claimed, and schedules that are due. */
  static async loadReady(
    session: DatabaseSession,
    options: { purpose: QueuePurpose; limit: number; perAgent?: number | undefined; now: number },
  ): Promise<LoadedTables> {
    const { purpose, limit, perAgent, now } = options;
    const tables = new LoadedTables();
    if (perAgent !== undefined) {
      await session.query('SELECT pg_advisory_xact_lock($1)', [CLAIM_LOCK]);
    }
    await wakeJobs(session, now);
    if (purpose === 'run') await tables.#loadSchedules(session, now);
    const leased = `SELECT agent, count(*) AS n FROM ${S}.job
      WHERE queue = $1 AND place = 'leased' AND agent IS NOT NULL GROUP BY agent`;
    const running = perAgent === undefined ? [] : await session.query(leased, [purpose]);
    const turns = new AgentTurns(toNumbers(running, 'agent'), perAgent, limit);
    for (;;) {
      const rows = await session.query(
        `SELECT ${JOB}, call FROM ${S}.job WHERE queue = $1 AND place = 'ready'
           AND (agent IS NULL OR agent <> ALL($2::text[]))
         ORDER BY priority DESC, position LIMIT $3 FOR UPDATE SKIP LOCKED`,
        [purpose, turns.full, limit],
      );
      if (!turns.take(rows.flatMap((row) => tables.#add(row).place ?? []))) break;
    }
    tables.#turns = turns;
    return tables;
  }

  /** For `schedule` and `unschedule`. */
  static async loadSchedules(session: DatabaseSession): Promise<LoadedTables> {
    const tables = new LoadedTables();
    await tables.#loadSchedules(session, undefined);
    return tables;
  }

  insert(job: Job, call: string): void {
    const row = { job, call };
    this.#jobs.set(job.id, row);
    this.#changed.add(row);
    const { jobs, bytes } = this.usage(job.principal_id);
    const used = { jobs: jobs + 1, bytes: bytes + storedBytes(call) };
    this.#usage.set(toText(job.principal_id), used);
  }

  get(id: string): Job | undefined {
    return this.#jobs.get(id)?.job;
  }

  update(job: Job): void {
    this.#change(job.id).job = job;
    this.#hints.add(job.id);
  }

  call(id: string): string | undefined {
    return this.#jobs.get(id)?.call;
  }

  setCall(id: string, call: string): void {
    this.#freed.set(id, call);
  }

  result(id: string): string | undefined {
    return this.#jobs.get(id)?.result;
  }

  setResult(id: string, result: string): void {
    this.#change(id).result = result;
  }

  addEvents(id: string, first: number, texts: readonly string[]): void {
    const { position = '' } = this.#change(id);
    for (const [index, text] of texts.entries()) this.#events.push([position, first + index, text]);
  }

  key(principalId: string, key: string): KeyRow | undefined {
    return this.#keys.get(JSON.stringify([toText(principalId), toText(key)]));
  }

  setKey(principalId: string, key: string, row: KeyRow): void {
    this.#keys.set(JSON.stringify([toText(principalId), toText(key)]), row);
    const { jobId, fingerprint, expiresAt } = row;
    this.#newKeys.push([toText(principalId), toText(key), jobId, fingerprint, expiresAt]);
  }

  entry(jobId: string, purpose: QueuePurpose): QueueEntry | undefined {
    const place = this.#jobs.get(jobId)?.place;
    return place?.purpose === purpose ? place : undefined;
  }

  putEntry(entry: QueueEntry): void {
    this.#change(entry.jobId).place = entry;
    if (entry.state === 'ready') this.#hints.add(READY);
  }

  /** The place is free: another job of the agent may run. */
  deleteEntry(jobId: string, purpose: QueuePurpose): void {
    if (this.entry(jobId, purpose) === undefined) return;
    this.#change(jobId).place = undefined;
    this.#hints.add(READY);
  }

  /** `loadReady` did so. */
  wake(): void {}

  /** Those that `loadReady` chose, and new ones of schedules. */
  ready(): readonly QueueEntry[] {
    const added = [...this.#changed].flatMap(({ position, place }) =>
      position === undefined && place?.state === 'ready' ? place : [],
    );
    this.#turns?.take(added);
    return this.#turns?.chosen ?? [];
  }

  usage(principalId: string): JobQuota {
    return this.#usage.get(toText(principalId)) ?? { jobs: 0, bytes: 0 };
  }

  schedules(): readonly ScheduleRow[] {
    return this.#schedules;
  }

  dueSchedules(): readonly ScheduleRow[] {
    return this.#schedules;
  }

  putSchedule({ name, cron, timezone, job, nextAt }: ScheduleRow): void {
    this.#newSchedules.push([name, cron, timezone, job, nextAt]);
  }

  deleteSchedule(name: string): void {
    this.#goneSchedules.push([name]);
  }

  /** Writes what the steps changed, and notifies the other gateways. */
  async save(session: DatabaseSession): Promise<void> {
    const changed = [...this.#changed];
    await insertJobs(
      session,
      changed.filter(({ position }) => position === undefined),
    );
    await updateJobs(
      session,
      changed.filter(({ position }) => position !== undefined),
    );
    await many(
      session,
      `INSERT INTO ${S}.event (position, number, text)
       SELECT * FROM unnest($1::bigint[], $2::integer[], $3::text[])`,
      this.#events,
    );
    await many(
      session,
      `UPDATE ${S}.job SET call = c.call, bytes = c.bytes
       FROM unnest($1::text[], $2::text[], $3::bigint[]) AS c (id, call, bytes) WHERE job.id = c.id`,
      [...this.#freed].map(([id, call]) => [id, call, storedBytes(call)]),
    );
    await many(
      session,
      `INSERT INTO ${S}.idempotency (principal, key, job_id, fingerprint, expires_at)
       SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
       ON CONFLICT (principal, key) DO UPDATE SET job_id = excluded.job_id,
         fingerprint = excluded.fingerprint, expires_at = excluded.expires_at`,
      this.#newKeys,
    );
    await many(
      session,
      `INSERT INTO ${S}.schedule (name, cron, timezone, job, next_at)
       SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
       ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, timezone = excluded.timezone,
         job = excluded.job, next_at = excluded.next_at`,
      this.#newSchedules,
    );
    await many(session, `DELETE FROM ${S}.schedule WHERE name = ANY($1)`, this.#goneSchedules);
    await notify(session, [...this.#hints]);
  }

  #change(id: string): LoadedJob {
    const row = this.#jobs.get(id);
    if (row === undefined) throw new Error(`job ${id} was not read`);
    this.#changed.add(row);
    return row;
  }

  /**
   * Loads keys and usage of the principals that create jobs. They wait for each other until the
   * transaction ends. Returns the jobs that have the keys.
   */
  async #loadPrincipals(session: DatabaseSession, created: readonly LedgerNewJob[]) {
    const bound = created.filter(({ input }) => input.quota ?? input.idempotencyKey !== undefined);
    if (bound.length === 0) return [];
    const principals = [...new Set(bound.map(({ input }) => toText(input.principalId)))].sort();
    await session.query(
      'SELECT pg_advisory_xact_lock(hashtextextended($1 || p, 0)) FROM unnest($2::text[]) AS p',
      [CHANNEL, principals],
    );
    const usage = `SELECT principal, count(*) AS jobs, coalesce(sum(bytes), 0) AS bytes
      FROM ${S}.job WHERE principal = ANY($1) AND finished_at IS NULL GROUP BY principal`;
    if (bound.some(({ input }) => input.quota)) {
      for (const { principal, jobs, bytes } of await session.query(usage, [principals])) {
        this.#usage.set(principal, { jobs: Number(jobs), bytes: Number(bytes) });
      }
    }
    const keys = bound.map(({ input }) => toText(input.idempotencyKey ?? ''));
    const rows = await session.query(
      `SELECT * FROM ${S}.idempotency WHERE principal = ANY($1) AND key = ANY($2)`,
      [principals, keys],
    );
    for (const row of rows) this.#keys.set(JSON.stringify([row.principal, row.key]), toKeyRow(row));
    return rows.map(({ job_id }) => String(job_id));
  }

  async #loadJobs(session: DatabaseSession, ids: readonly string[], texts: readonly string[]) {
    const known = ids.filter(isId);
    if (known.length === 0) return;
    const rows = await session.query(
      `SELECT ${JOB}, CASE WHEN id = ANY($2) THEN call END AS call,
         CASE WHEN id = ANY($2) THEN result END AS result
       FROM ${S}.job WHERE id = ANY($1) ORDER BY position FOR UPDATE`,
      [known, texts.filter(isId)],
    );
    for (const row of rows) this.#add(row);
  }

  async #loadSchedules(session: DatabaseSession, dueAt: number | undefined): Promise<void> {
    const rows = await session.query(
      `SELECT * FROM ${S}.schedule WHERE $1::bigint IS NULL OR next_at <= $1
       ORDER BY name FOR UPDATE ${dueAt === undefined ? '' : 'SKIP LOCKED'}`,
      [dueAt ?? null],
    );
    this.#schedules = rows.map(toSchedule);
  }

  #add(row: Record<string, unknown>): LoadedJob {
    const loaded = toLoaded(row);
    this.#jobs.set(loaded.job.id, loaded);
    return loaded;
  }
}
