// A job database as the version with format 1 left it: its tables, and its places as jobs of pg-boss.

import type { Job } from '@starloom/core';
import pg from 'pg';
import { PgBoss } from 'pg-boss';

const TABLES = `
  BEGIN;
  CREATE SCHEMA IF NOT EXISTS starloom_jobs;
  SET LOCAL search_path TO starloom_jobs;
  CREATE TABLE IF NOT EXISTS job (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    principal text NOT NULL,
    state text NOT NULL,
    capability text NOT NULL,
    finished_at bigint,
    entry text,
    lease text,
    record text NOT NULL,
    call text NOT NULL,
    result text
  ) WITH (fillfactor = 70);
  ALTER TABLE job ADD COLUMN IF NOT EXISTS bytes bigint NOT NULL DEFAULT 0;
  CREATE INDEX IF NOT EXISTS job_open_of ON job (principal) INCLUDE (bytes) WHERE finished_at IS NULL;
  CREATE INDEX IF NOT EXISTS job_of_principal ON job (principal, position);
  CREATE INDEX IF NOT EXISTS job_by_state ON job (principal, state, position);
  CREATE INDEX IF NOT EXISTS job_ended ON job (finished_at) WHERE finished_at IS NOT NULL;
  CREATE INDEX IF NOT EXISTS job_open ON job (state) WHERE finished_at IS NULL;
  CREATE INDEX IF NOT EXISTS job_due ON job (position) WHERE position('"due":{' in record) > 0;
  CREATE TABLE IF NOT EXISTS event (
    position bigint NOT NULL, number integer NOT NULL, text text NOT NULL,
    PRIMARY KEY (position, number)
  );
  CREATE TABLE IF NOT EXISTS idempotency (
    principal text NOT NULL, key text NOT NULL, job_id text NOT NULL,
    fingerprint text NOT NULL, expires_at bigint NOT NULL, PRIMARY KEY (principal, key)
  );
  CREATE INDEX IF NOT EXISTS idempotency_expiry ON idempotency (expires_at);
  CREATE INDEX IF NOT EXISTS idempotency_job ON idempotency (job_id);
  CREATE TABLE IF NOT EXISTS schedule (
    name text PRIMARY KEY, cron text NOT NULL, timezone text NOT NULL, job text NOT NULL
  );
  ALTER TABLE schedule ADD COLUMN IF NOT EXISTS fired_at bigint NOT NULL DEFAULT
    (extract(epoch FROM now()) * 1000)::bigint;
  CREATE TABLE IF NOT EXISTS format (version integer PRIMARY KEY);
  INSERT INTO format VALUES (1) ON CONFLICT DO NOTHING;
  COMMIT;
`;

export interface Format1Job {
  readonly job: Job;
  readonly call: unknown;
  readonly place?: { readonly queue: 'jobs' | 'webhooks'; readonly startAfter?: Date };
  /** A worker has it. */
  readonly isClaimed?: boolean;
  readonly events?: readonly unknown[];
}

export interface Format1 {
  readonly jobs: readonly Format1Job[];
  readonly schedules: readonly { name: string; cron: string; job: unknown; firedAt: number }[];
}

export async function writeFormat1(url: string, { jobs, schedules }: Format1): Promise<void> {
  await using client = await connect(url);
  await client.query(TABLES);
  const boss = new PgBoss({ connectionString: url, schema: 'starloom_queue' });
  await boss.start();
  for (const queue of ['jobs', 'webhooks']) await boss.createQueue(queue);
  for (const { job, call, place, isClaimed = false, events = [] } of jobs) {
    let entry: string | null = null;
    if (place) {
      const data = { job: job.id, tries: 1 };
      const options = { priority: isClaimed ? 999 : 0, startAfter: place.startAfter ?? 0 };
      entry = await boss.send(place.queue, data, { ...options, expireInSeconds: 3_600 });
    }
    const claimed = place && isClaimed ? await boss.fetch(place.queue) : [];
    const text = JSON.stringify(call);
    const inserted = await client.query(
      `INSERT INTO starloom_jobs.job (id, principal, state, capability, finished_at, entry, lease, record,
         call, bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING position`,
      [
        job.id,
        job.principal_id,
        job.state,
        job.capability,
        job.finished_at ?? null,
        entry,
        claimed.length > 0 ? `${entry}:0` : null,
        JSON.stringify(job),
        text,
        text.length,
      ],
    );
    for (const [index, event] of events.entries()) {
      await client.query('INSERT INTO starloom_jobs.event VALUES ($1, $2, $3)', [
        inserted.rows[0]?.position,
        index + 1,
        JSON.stringify(event),
      ]);
    }
  }
  for (const { name, cron, job, firedAt } of schedules) {
    await client.query(`INSERT INTO starloom_jobs.schedule VALUES ($1, $2, 'UTC', $3, $4)`, [
      name,
      cron,
      JSON.stringify(job),
      firedAt,
    ]);
  }
  await boss.stop({ graceful: false });
}

/** A plain connection, by a name if the test wants to look like another program. */
export async function connect(url: string, name = 'test') {
  const client = new pg.Client({ connectionString: url, application_name: name });
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}
