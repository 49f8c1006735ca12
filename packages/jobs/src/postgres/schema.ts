// The tables, and how they are made from those of the version before. A job is one row with its place in
// the queue: it has one place at most, and one lock covers both.

import type { DatabaseSession } from '@starloom/wire/postgres';
import { nextCron } from '../next-cron.ts';
import { failure } from '../reasons.ts';

export const SCHEMA_NAME = 'starloom_jobs';
/** LISTEN and NOTIFY: the id of a job that changed, or `READY`. */
export const CHANNEL = 'starloom_jobs';

const FORMAT = 2;
/** Any number, the same for all gateways: they create the tables one after the other. */
const SCHEMA_LOCK = 7_420_150;

/** Safe to run at every start. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS job (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    principal text NOT NULL,
    state text NOT NULL,
    capability text NOT NULL,
    finished_at bigint,
    record text NOT NULL,
    due boolean NOT NULL DEFAULT false,
    call text NOT NULL,
    bytes bigint NOT NULL,
    result text,
    queue text, place text, ready_at bigint, lease text,
    priority integer NOT NULL, agent text, tries integer NOT NULL DEFAULT 0
  ) WITH (fillfactor = 70);
  CREATE INDEX IF NOT EXISTS job_open_of ON job (principal) INCLUDE (bytes) WHERE finished_at IS NULL;
  CREATE INDEX IF NOT EXISTS job_of_principal ON job (principal, position);
  CREATE INDEX IF NOT EXISTS job_by_state ON job (principal, state, position);
  CREATE INDEX IF NOT EXISTS job_ended ON job (finished_at) WHERE finished_at IS NOT NULL;
  CREATE INDEX IF NOT EXISTS job_open ON job (state) WHERE finished_at IS NULL;
  CREATE INDEX IF NOT EXISTS job_with_due ON job (position) WHERE due;
  CREATE INDEX IF NOT EXISTS job_ready ON job (queue, priority DESC, position) WHERE place = 'ready';
  CREATE INDEX IF NOT EXISTS job_waiting ON job (ready_at) WHERE place <> 'ready';
  CREATE INDEX IF NOT EXISTS job_leased ON job (queue, agent) WHERE place = 'leased';
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
    name text PRIMARY KEY, cron text NOT NULL, timezone text NOT NULL, job text NOT NULL,
    next_at bigint NOT NULL
  );
  CREATE TABLE IF NOT EXISTS format (version integer PRIMARY KEY);
  INSERT INTO format VALUES (${FORMAT}) ON CONFLICT DO NOTHING;
`;

/**
 * Format 1 kept the places as jobs of pg-boss, in a schema of its own. A place that a worker had is leased
 * once more: that worker may still run, cut off from the database. A job without a place gets one.
 */
const FROM_FORMAT_1 = `
  CREATE SCHEMA IF NOT EXISTS starloom_queue;
  CREATE TABLE IF NOT EXISTS starloom_queue.job (id uuid, state text, start_after timestamptz,
    started_on timestamptz, retry_count integer, data jsonb);
  ALTER TABLE job ADD COLUMN due boolean NOT NULL DEFAULT false,
    ADD COLUMN queue text, ADD COLUMN place text, ADD COLUMN ready_at bigint,
    ADD COLUMN priority integer NOT NULL DEFAULT 0, ADD COLUMN agent text,
    ADD COLUMN tries integer NOT NULL DEFAULT 0;
  UPDATE job SET
    queue = CASE WHEN job.finished_at IS NULL THEN 'run' ELSE 'webhook' END,
    place = CASE WHEN old.state::text = 'active' THEN 'leased' ELSE 'deferred' END,
    ready_at = CASE WHEN old.state::text = 'active'
      THEN extract(epoch FROM now()) * 1000 + 30000
      ELSE coalesce(extract(epoch FROM old.start_after) * 1000, 0) END,
    priority = (job.record::json ->> 'priority')::integer,
    agent = job.record::json ->> 'agent_id',
    tries = coalesce((old.data ->> 'tries')::integer + old.retry_count
      + (old.started_on IS NOT NULL)::integer, 0)
  FROM job AS same LEFT JOIN starloom_queue.job AS old ON old.id::text = same.entry
  WHERE same.position = job.position AND (job.finished_at IS NULL OR job.entry IS NOT NULL);
  UPDATE job SET due = true
    WHERE position('"due":{' in record) > 0 AND record::json #> '{notes,due}' IS NOT NULL;
  ALTER TABLE job DROP COLUMN entry;
  DROP INDEX IF EXISTS job_due;
  ALTER TABLE schedule ADD COLUMN next_at bigint;
  DROP SCHEMA starloom_queue CASCADE;
`;

/** In one transaction: afterwards the tables are those of this version, or as they were. */
export async function prepareTables(session: DatabaseSession): Promise<void> {
  await session.query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK]);
  await session.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA_NAME}`);
  await session.query(`SET LOCAL search_path TO ${SCHEMA_NAME}`);
  const format = await readFormat(session);
  if (format > FORMAT) throw failure('newer_store');
  if (format === 1) await migrate(session);
  await session.query(SCHEMA);
}

async function readFormat(session: DatabaseSession): Promise<number> {
  const [table] = await session.query(`SELECT to_regclass('format') AS name`);
  if (table?.name === null) return 0;
  const [row] = await session.query('SELECT max(version) AS version FROM format');
  return Number(row?.version);
}

async function migrate(session: DatabaseSession): Promise<void> {
  // Gateways of format 1 hold such a connection as long as they run.
  const [old] = await session.query(
    `SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'starloom-listen'`,
  );
  if (old !== undefined) throw failure('older_gateways');
  await session.query(FROM_FORMAT_1);
  for (const row of await session.query('SELECT name, cron, timezone, fired_at FROM schedule')) {
    const nextAt = nextCron(String(row.cron), String(row.timezone), Number(row.fired_at));
    await session.query('UPDATE schedule SET next_at = $2 WHERE name = $1', [row.name, nextAt]);
  }
  await session.query(`
    ALTER TABLE schedule ALTER COLUMN next_at SET NOT NULL;
    ALTER TABLE schedule DROP COLUMN fired_at;
  `);
}
