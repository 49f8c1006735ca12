/** "SLJB", in the header of the file. */
export const APPLICATION_ID = 0x534c4a42;
export const FORMAT = 1;

/** Of a new file, before anything else. Each of these writes, even where it changes nothing. */
export const NEW_FILE = `
  PRAGMA auto_vacuum = INCREMENTAL;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT};
`;

/** What `COMMIT` answered is on disk: WAL with a sync per commit. One process holds the file. */
export const PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA temp_store = MEMORY;
  PRAGMA cache_size = -16384;
`;

/** Of the log beside the file. */
export const MAX_LOG_PAGES = 4000;

/** Nearly all of these have the note `due`: an index of few rows. */
export const IS_DUE = `instr(record, '"due":{') > 0`;

/**
 * The queue holds open jobs only, so that no claim costs more for the jobs that are over. Calls and
 * results are apart from the record, which is written with every event.
 */
export const SCHEMA = `
  CREATE TABLE IF NOT EXISTS job (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    principal TEXT NOT NULL,
    state TEXT NOT NULL,
    capability TEXT NOT NULL,
    finished_at INTEGER,
    record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS job_of_principal ON job (principal, position);
  CREATE INDEX IF NOT EXISTS job_by_state ON job (principal, state, position);
  CREATE INDEX IF NOT EXISTS job_ended ON job (finished_at) WHERE finished_at IS NOT NULL;
  CREATE INDEX IF NOT EXISTS job_due ON job (position) WHERE ${IS_DUE};
  CREATE TABLE IF NOT EXISTS content (
    id TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (id, kind)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS event (
    position INTEGER NOT NULL, number INTEGER NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (position, number)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS idempotency (
    principal TEXT NOT NULL, key TEXT NOT NULL, job_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL, expires_at INTEGER NOT NULL, PRIMARY KEY (principal, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS idempotency_expiry ON idempotency (expires_at);
  CREATE INDEX IF NOT EXISTS idempotency_job ON idempotency (job_id);
  CREATE TABLE IF NOT EXISTS queue (
    position INTEGER NOT NULL, purpose TEXT NOT NULL, job_id TEXT NOT NULL,
    priority INTEGER NOT NULL, agent TEXT, state TEXT NOT NULL, ready_at INTEGER NOT NULL,
    lease TEXT, tries INTEGER NOT NULL, PRIMARY KEY (position, purpose)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX IF NOT EXISTS queue_job ON queue (job_id, purpose);
  CREATE INDEX IF NOT EXISTS queue_ready ON queue (purpose, priority DESC, position)
    WHERE state = 'ready';
  CREATE INDEX IF NOT EXISTS queue_waiting ON queue (ready_at) WHERE state <> 'ready';
  CREATE INDEX IF NOT EXISTS queue_leased ON queue (purpose, agent) WHERE state = 'leased';
  CREATE TABLE IF NOT EXISTS counter (
    state TEXT PRIMARY KEY, jobs INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS usage (
    principal TEXT PRIMARY KEY, jobs INTEGER NOT NULL, bytes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS schedule (
    name TEXT PRIMARY KEY, cron TEXT NOT NULL, timezone TEXT NOT NULL,
    next_at INTEGER NOT NULL, job TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

/** What a record and its place in the queue take, roughly. */
export const RECORD_BYTES = 1024;

/** Of a file of a version that did not count it; `bytes_of` is ours. */
export const COUNT_USAGE = `
  INSERT INTO usage
  SELECT principal, sum(finished_at IS NULL), sum(${RECORD_BYTES}
    + coalesce((SELECT sum(bytes_of(text)) FROM content WHERE content.id = job.id), 0)
    + coalesce((SELECT sum(bytes_of(text)) FROM event WHERE event.position = job.position), 0))
  FROM job WHERE NOT EXISTS (SELECT 1 FROM usage) GROUP BY principal;
`;
