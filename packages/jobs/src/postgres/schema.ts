// The tables. A job is one row with its place in the queue: it has one place at most, and one lock covers both.

import type { DatabaseSession } from '@starloom/wire/postgres';
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

export async function prepareTables(session: DatabaseSession): Promise<void> {
  await session.query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK]);
  await session.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA_NAME}`);
  await session.query(`SET LOCAL search_path TO ${SCHEMA_NAME}`);
  const [table] = await session.query(`SELECT to_regclass('format') AS name`);
  if (table?.name !== null) {
    const [row] = await session.query('SELECT max(version) AS version FROM format');
    const format = Number(row?.version);
    if (format !== FORMAT) throw failure(format > FORMAT ? 'newer_store' : 'older_store');
  }
  await session.query(SCHEMA);
}
