// The file: a log of operations in order, and a snapshot of each partition that was written before
// the log's first record. One transaction is one batch, on disk before `write` returns. SQLite
// drops a transaction that was torn; a checksum per row finds what rotted since.

import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { LogBatch, LogProblem, LogReply, SnapshotRow } from './log-messages.ts';

/** "STLM": whose file this is. */
const APPLICATION_ID = 0x53544c4d;
const FORMAT = 1;
const ROWS_PER_REPLY = 512;

export class SqliteLogError extends Error {
  readonly reason: LogProblem['reason'];

  constructor(reason: LogProblem['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

export class SqliteLog {
  readonly #database: DatabaseSync;
  readonly #statements: Readonly<Record<keyof typeof STATEMENTS, StatementSync>>;
  #last = 0;

  /** Holds the file for itself until it is closed or the process ends, however that happens. */
  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    try {
      this.#prepareFile();
    } catch (error) {
      this.#database.close();
      throw error;
    }
    this.#statements = {
      append: this.#database.prepare(STATEMENTS.append),
      truncate: this.#database.prepare(STATEMENTS.truncate),
      setMeta: this.#database.prepare(STATEMENTS.setMeta),
      putSnapshot: this.#database.prepare(STATEMENTS.putSnapshot),
      deleteSnapshot: this.#database.prepare(STATEMENTS.deleteSnapshot),
    };
  }

  /** All there is, and cuts off records at the end that cannot be read. */
  *load(): Iterable<LogReply> {
    yield* this.#loadSnapshots();
    const start = this.#meta('truncated');
    this.#last = start;
    let texts: string[] = [];
    let torn = 0;
    for (const row of this.#database.prepare('SELECT * FROM log ORDER BY sequence').iterate()) {
      const { sequence, crc, record } = row;
      const isGood = typeof record === 'string' && crc32(record) === crc;
      if (isGood && sequence !== this.#last + 1) throw corrupt(`record ${this.#last + 1}`);
      if (!isGood) {
        torn += 1;
        continue;
      }
      texts.push(record);
      this.#last += 1;
      if (texts.length < ROWS_PER_REPLY) continue;
      yield { kind: 'records', first: this.#last - texts.length + 1, texts };
      texts = [];
    }
    yield { kind: 'records', first: this.#last - texts.length + 1, texts };
    if (torn > 0) this.#database.prepare('DELETE FROM log WHERE sequence > ?').run(this.#last);
    yield { kind: 'ready', now: this.#meta('now'), torn };
  }

  write({ records, snapshots, truncate }: LogBatch): void {
    const { append, putSnapshot, deleteSnapshot, setMeta } = this.#statements;
    this.#database.exec('BEGIN');
    try {
      for (const [index, record] of records.entries()) {
        append.run(this.#last + 1 + index, crc32(record), record);
      }
      for (const { partition, sequence, text } of snapshots) {
        if (text === undefined) deleteSnapshot.run(partition);
        else putSnapshot.run(partition, sequence, crc32(text), text);
      }
      if (truncate !== undefined) {
        this.#statements.truncate.run(truncate.sequence);
        setMeta.run('truncated', truncate.sequence);
        setMeta.run('now', truncate.now);
      }
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
    this.#last += records.length;
  }

  close(): void {
    this.#database.close();
  }

  #prepareFile(): void {
    this.#database.exec('PRAGMA locking_mode = EXCLUSIVE');
    const id = this.#pragma('application_id');
    const tables = this.#database.prepare('SELECT count(*) AS n FROM sqlite_schema').get();
    if (id !== APPLICATION_ID && tables?.n !== 0) {
      throw new SqliteLogError('foreign', 'the file is a database of something else');
    }
    if (this.#pragma('user_version') > FORMAT) {
      throw new SqliteLogError('newer', 'the file was written by a newer version');
    }
    this.#database.exec(SCHEMA);
  }

  #pragma(name: 'application_id' | 'user_version'): number {
    return Number(this.#database.prepare(`PRAGMA ${name}`).get()?.[name]);
  }

  *#loadSnapshots(): Iterable<LogReply> {
    let rows: SnapshotRow[] = [];
    for (const row of this.#database.prepare('SELECT * FROM snapshot').iterate()) {
      const { partition, sequence, crc, text } = row;
      if (typeof text !== 'string' || crc32(text) !== crc) throw corrupt(`snapshot ${partition}`);
      rows.push({ partition: String(partition), sequence: Number(sequence), text });
      if (rows.length < ROWS_PER_REPLY) continue;
      yield { kind: 'snapshots', rows };
      rows = [];
    }
    yield { kind: 'snapshots', rows };
  }

  #meta(name: 'truncated' | 'now'): number {
    const row = this.#database.prepare('SELECT value FROM meta WHERE name = ?').get(name);
    return Number(row?.value ?? 0);
  }
}

export function toLogProblem(error: unknown): LogProblem {
  if (error instanceof SqliteLogError) return { reason: error.reason, message: error.message };
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;
  return { reason: SQLITE_REASONS[code] ?? 'io', message };
}

/** SQLITE_BUSY, SQLITE_CORRUPT, SQLITE_NOTADB. */
const SQLITE_REASONS: Readonly<Record<number, LogProblem['reason']>> = {
  5: 'in_use',
  11: 'corrupt',
  26: 'foreign',
};

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  BEGIN EXCLUSIVE;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT};
  CREATE TABLE IF NOT EXISTS log (
    sequence INTEGER PRIMARY KEY, crc INTEGER NOT NULL, record TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS snapshot (
    partition TEXT PRIMARY KEY, sequence INTEGER NOT NULL, crc INTEGER NOT NULL, text TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
  COMMIT;
`;

const STATEMENTS = {
  append: 'INSERT INTO log (sequence, crc, record) VALUES (?, ?, ?)',
  truncate: 'DELETE FROM log WHERE sequence <= ?',
  setMeta: 'INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)',
  putSnapshot:
    'INSERT OR REPLACE INTO snapshot (partition, sequence, crc, text) VALUES (?, ?, ?, ?)',
  deleteSnapshot: 'DELETE FROM snapshot WHERE partition = ?',
};

function corrupt(what: string): SqliteLogError {
  return new SqliteLogError('corrupt', `${what} is damaged, and it is not the end of the log`);
}
