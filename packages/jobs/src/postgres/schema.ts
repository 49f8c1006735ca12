export const SCHEMA_NAME = 'starloom_jobs';
/** Of pg-boss, which keeps the places in the queue. */
export const BOSS_SCHEMA = 'starloom_queue';
/** LISTEN and NOTIFY: the id of a job that changed, or `READY`. */
export const CHANNEL = 'starloom_jobs';
export const READY = 'ready';

const FORMAT = 1;
/** Any number, the same for all gateways: they create the schemas one after the other. */
export const SCHEMA_LOCK = 7_420_150;

/** Nearly all of these have the note `due`: an index of few rows. */
export const IS_DUE = `position('"due":{' in record) > 0`;

/** One transaction; safe to run at every start. */
export const SCHEMA = `
  BEGIN;
  CREATE SCHEMA IF NOT EXISTS ${SCHEMA_NAME};
  SET LOCAL search_path TO ${SCHEMA_NAME};
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
  CREATE INDEX IF NOT EXISTS job_due ON job (position) WHERE ${IS_DUE};
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
  INSERT INTO format VALUES (${FORMAT}) ON CONFLICT DO NOTHING;
  COMMIT;
`;
