// Rows of jobs in Postgres. Every function is one statement of the session it is given; rules are elsewhere.

import type { Job } from '@starloom/core';
import type { DatabaseSession } from '@starloom/wire/postgres';
import { type QueueEntry, storedBytes, toEntry, toJob } from '../ledger/job-tables.ts';
import { CHANNEL, SCHEMA_NAME as S } from './schema.ts';

export interface LoadedJob {
  /** None yet of a job that is new. */
  readonly position?: string;
  job: Job;
  /** Where they were asked for. */
  call?: string;
  result?: string;
  place?: QueueEntry | undefined;
}

/** What `toLoaded` reads. */
export const JOB = `id AS job_id, position, record, queue AS purpose, place AS state, ready_at, lease,
  priority, agent, tries`;
const MAX_WOKEN = 10_000;

export function toLoaded(row: Record<string, unknown>): LoadedJob {
  return {
    position: String(row.position),
    job: toJob(row),
    ...(typeof row.call === 'string' && { call: row.call }),
    ...(typeof row.result === 'string' && { result: row.result }),
    ...(row.purpose !== null && { place: toEntry(row) }),
  };
}

/** Delivered when the transaction commits. */
export async function notify(session: DatabaseSession, hints: readonly string[]): Promise<void> {
  if (hints.length === 0) return;
  const sql = 'SELECT pg_notify($1, hint) FROM unnest($2::text[]) AS hint';
  await session.query(sql, [CHANNEL, hints]);
}

export function isId(id: unknown): id is string {
  return typeof id === 'string' && /^[0-9a-f-]{36}$/.test(id);
}

/** Postgres has no text with a NUL character. */
export function toText(text: string): string {
  return text.replaceAll('\0', '\uFFFD');
}

/** Deferred places whose time has come, and leased ones that expired. */
export async function wakeJobs(session: DatabaseSession, now: number): Promise<void> {
  await session.query(
    `UPDATE ${S}.job SET place = 'ready' WHERE position = ANY(ARRAY(
       SELECT position FROM ${S}.job WHERE place <> 'ready' AND ready_at <= $1
       ORDER BY ready_at LIMIT ${MAX_WOKEN} FOR UPDATE SKIP LOCKED))`,
    [now],
  );
}

export async function insertJobs(
  session: DatabaseSession,
  rows: readonly LoadedJob[],
): Promise<void> {
  await many(
    session,
    `INSERT INTO ${S}.job (id, principal, state, capability, call, bytes, priority, agent, record, due,
       queue, place, ready_at, lease, tries)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[],
       $7::integer[], $8::text[], $9::text[], $10::boolean[],
       $11::text[], $12::text[], $13::bigint[], $14::text[], $15::integer[])`,
    rows.map(({ job, call = '', place }) => [
      job.id,
      toText(job.principal_id),
      job.state,
      toText(job.capability),
      call,
      storedBytes(call),
      job.priority,
      job.agent_id === undefined ? null : toText(job.agent_id),
      JSON.stringify(job),
      isDue(job),
      ...placeOf(place),
    ]),
  );
}

export async function updateJobs(
  session: DatabaseSession,
  rows: readonly LoadedJob[],
): Promise<void> {
  await many(
    session,
    `UPDATE ${S}.job SET state = c.state, finished_at = c.finished_at, record = c.record, due = c.due,
       result = coalesce(c.result, job.result), queue = c.queue, place = c.place,
       ready_at = c.ready_at, lease = c.lease, tries = c.tries
     FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::boolean[], $6::text[],
       $7::text[], $8::text[], $9::bigint[], $10::text[], $11::integer[])
       AS c (position, state, finished_at, record, due, result, queue, place, ready_at, lease, tries)
     WHERE job.position = c.position`,
    rows.map(({ position, job, result = null, place }) => [
      position,
      job.state,
      job.finished_at ?? null,
      JSON.stringify(job),
      isDue(job),
      result,
      ...placeOf(place),
    ]),
  );
}

function isDue({ notes }: Job): boolean {
  return notes?.due !== undefined;
}

function placeOf(entry: QueueEntry | undefined) {
  if (entry === undefined) return [null, null, null, null, 0];
  const { purpose, state, readyAt, lease = null, tries } = entry;
  return [purpose, state, Math.ceil(readyAt), lease, tries];
}

/** One statement for any number of rows; its parameters are the columns. */
export async function many(
  session: DatabaseSession,
  sql: string,
  rows: readonly (readonly unknown[])[],
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  await session.query(
    sql,
    first.map((_, column) => rows.map((row) => row[column])),
  );
}
