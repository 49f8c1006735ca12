// Our tables. Every method is one statement of the session it is given; rules are elsewhere.

import {
  JOB_STATES,
  type Job,
  type JobFilter,
  type JobQuota,
  type JobState,
  normalName,
} from '@starloom/core';
import { toPosition } from '../ledger/job-ledger.ts';
import { NO_CALL, storedBytes } from '../ledger/stored-text.ts';
import type { DatabaseSession } from './database.ts';
import { CHANNEL, IS_DUE, SCHEMA_NAME as S } from './schema.ts';

export interface JobRow {
  readonly job: Job;
  readonly entry: string | null;
  readonly lease: string | null;
  readonly call: string;
  readonly result: string | null;
}

export async function insertJobs(
  session: DatabaseSession,
  rows: readonly { readonly job: Job; readonly call: string; readonly entry: string }[],
): Promise<void> {
  await session.executeSql(
    `INSERT INTO ${S}.job (id, principal, state, capability, entry, record, call, bytes)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
       $7::text[], $8::bigint[])`,
    [
      rows.map(({ job }) => job.id),
      rows.map(({ job }) => toText(job.principal_id)),
      rows.map(({ job }) => job.state),
      rows.map(({ job }) => toText(job.capability)),
      rows.map(({ entry }) => entry),
      rows.map(({ job }) => JSON.stringify(job)),
      rows.map(({ call }) => call),
      rows.map(({ call }) => storedBytes(call)),
    ],
  );
}

/** Of jobs that are not over. */
export async function readUsage(session: DatabaseSession, principalId: string): Promise<JobQuota> {
  const sql = `SELECT count(*) AS jobs, coalesce(sum(bytes), 0) AS bytes FROM ${S}.job
    WHERE principal = $1 AND finished_at IS NULL`;
  const { rows } = await session.executeSql(sql, [toText(principalId)]);
  return { jobs: Number(rows[0]?.jobs), bytes: Number(rows[0]?.bytes) };
}

export async function dropCall(session: DatabaseSession, id: string): Promise<void> {
  await session.executeSql(`UPDATE ${S}.job SET call = $2, bytes = 0 WHERE id = $1`, [id, NO_CALL]);
}

/** In no order; `lock` keeps others from changing them until the transaction ends. */
export async function readJobs(
  session: DatabaseSession,
  ids: readonly string[],
  lock: boolean,
): Promise<ReadonlyMap<string, JobRow>> {
  const sql = `SELECT id, entry, lease, record, call, result FROM ${S}.job WHERE id = ANY($1)
    ${lock ? 'ORDER BY position FOR UPDATE' : ''}`;
  const { rows } = await session.executeSql(sql, [ids]);
  return new Map(
    rows.map((row) => [String(row.id), { ...row, job: JSON.parse(row.record) } as JobRow]),
  );
}

export interface JobChange {
  readonly job: Job;
  readonly entry: string | null;
  readonly lease: string | null;
  readonly result?: string | undefined;
}

export async function updateJobs(
  session: DatabaseSession,
  changes: readonly JobChange[],
): Promise<void> {
  if (changes.length === 0) return;
  await session.executeSql(
    `UPDATE ${S}.job SET state = c.state, finished_at = c.finished_at, entry = c.entry,
       lease = c.lease, record = c.record, result = coalesce(c.result, job.result)
     FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[])
       AS c (id, state, finished_at, entry, lease, record, result)
     WHERE job.id = c.id`,
    [
      changes.map(({ job }) => job.id),
      changes.map(({ job }) => job.state),
      changes.map(({ job }) => job.finished_at ?? null),
      changes.map(({ entry }) => entry),
      changes.map(({ lease }) => lease),
      changes.map(({ job }) => JSON.stringify(job)),
      changes.map(({ result }) => result ?? null),
    ],
  );
}

export async function insertEvents(
  session: DatabaseSession,
  id: string,
  first: number,
  texts: readonly string[],
): Promise<void> {
  if (texts.length === 0) return;
  await session.executeSql(
    `INSERT INTO ${S}.event (position, number, text)
     SELECT job.position, $2::int + e.index - 1, e.text
     FROM ${S}.job, unnest($3::text[]) WITH ORDINALITY AS e (text, index) WHERE job.id = $1`,
    [id, first, texts],
  );
}

/** The job and its events after a number, from one snapshot. */
export async function readEvents(
  session: DatabaseSession,
  id: string,
  after: number,
  limit: number,
) {
  const { rows } = await session.executeSql(
    `SELECT job.record, array(
       SELECT text FROM ${S}.event WHERE event.position = job.position AND number > $2
       ORDER BY number LIMIT $3) AS texts
     FROM ${S}.job WHERE id = $1`,
    [id, after, limit],
  );
  const [row] = rows;
  return row && { job: JSON.parse(row.record) as Job, texts: row.texts as string[] };
}

export async function listJobs(session: DatabaseSession, filter: JobFilter) {
  const { principalId, state, capability, limit, cursor } = filter;
  const { rows } = await session.executeSql(
    `SELECT position, record FROM ${S}.job WHERE principal = $1
       AND ($2::bigint IS NULL OR position < $2) AND ($3::text IS NULL OR state = $3)
       AND ($4::text IS NULL OR replace(capability, ':', '.') = $4)
     ORDER BY position DESC LIMIT $5`,
    [
      toText(principalId),
      cursor === undefined ? null : toPosition(cursor),
      state ?? null,
      capability === undefined ? null : toText(normalName(capability)),
      limit + 1,
    ],
  );
  const jobs = rows.slice(0, limit).map(({ record }) => JSON.parse(record) as Job);
  const last = rows.length > limit ? rows[limit - 1]?.position : undefined;
  return last === undefined ? { jobs } : { jobs, next: String(last) };
}

export async function listDue(session: DatabaseSession, limit: number): Promise<readonly Job[]> {
  const sql = `SELECT record FROM ${S}.job WHERE ${IS_DUE}
    AND record::json #> '{notes,due}' IS NOT NULL ORDER BY position LIMIT $1`;
  const { rows } = await session.executeSql(sql, [limit]);
  return rows.map(({ record }) => JSON.parse(record) as Job);
}

/** True when the key is ours now; false when another job has it, which then is kept. */
export async function takeKey(
  session: DatabaseSession,
  row: { principalId: string; key: string; jobId: string; fingerprint: string; expiresAt: number },
  now: number,
): Promise<boolean> {
  const { rows } = await session.executeSql(
    `INSERT INTO ${S}.idempotency AS i (principal, key, job_id, fingerprint, expires_at)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (principal, key) DO UPDATE SET job_id = excluded.job_id,
       fingerprint = excluded.fingerprint, expires_at = excluded.expires_at
     WHERE i.expires_at <= $6 RETURNING 1`,
    [toText(row.principalId), toText(row.key), row.jobId, row.fingerprint, row.expiresAt, now],
  );
  return rows.length > 0;
}

export async function readKey(session: DatabaseSession, principalId: string, key: string) {
  const sql = `SELECT job_id, fingerprint FROM ${S}.idempotency WHERE principal = $1 AND key = $2`;
  const { rows } = await session.executeSql(sql, [toText(principalId), toText(key)]);
  const [row] = rows;
  return row && { jobId: String(row.job_id), fingerprint: String(row.fingerprint) };
}

/** Jobs that ended before a moment, their keys and events. */
export async function deleteJobs(
  session: DatabaseSession,
  before: number,
  limit: number,
  now: number,
) {
  await session.executeSql(`DELETE FROM ${S}.idempotency WHERE expires_at <= $1`, [now]);
  const { rows } = await session.executeSql(
    `WITH old AS (
       SELECT position FROM ${S}.job WHERE finished_at < $1 AND entry IS NULL
         AND NOT EXISTS (SELECT 1 FROM ${S}.idempotency WHERE job_id = job.id)
       ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED
     ), gone AS (DELETE FROM ${S}.event WHERE position IN (SELECT position FROM old))
     DELETE FROM ${S}.job WHERE position IN (SELECT position FROM old) RETURNING id`,
    [before, limit],
  );
  return rows.map(({ id }) => String(id));
}

export async function countJobs(
  session: DatabaseSession,
): Promise<Readonly<Record<JobState, number>>> {
  const counts = Object.fromEntries(JOB_STATES.map((state) => [state, 0]));
  const { rows } = await session.executeSql(
    `SELECT state, count(*) AS n FROM ${S}.job WHERE finished_at IS NULL GROUP BY state
     UNION ALL SELECT state, count(*) FROM ${S}.job WHERE finished_at IS NOT NULL GROUP BY state`,
  );
  for (const { state, n } of rows) counts[state] = Number(n);
  return counts as Record<JobState, number>;
}

export async function oldestQueued(
  session: DatabaseSession,
  now: number,
): Promise<number | undefined> {
  const { rows } = await session.executeSql(
    `SELECT min(greatest((record::json->>'created_at')::bigint,
       coalesce((record::json->>'run_at')::bigint, 0))) AS at
     FROM ${S}.job WHERE finished_at IS NULL AND state = 'queued'
       AND coalesce((record::json->>'run_at')::bigint, 0) <= $1`,
    [now],
  );
  const at = rows[0]?.at;
  return at === null || at === undefined ? undefined : Number(at);
}

/** Delivered when the transaction commits. */
export async function notify(session: DatabaseSession, payloads: readonly string[]): Promise<void> {
  if (payloads.length === 0) return;
  await session.executeSql('SELECT pg_notify($1, p) FROM unnest($2::text[]) AS p', [
    CHANNEL,
    payloads,
  ]);
}

/** Postgres has no text with a NUL character. */
function toText(text: string): string {
  return text.replaceAll('\0', '\uFFFD');
}
