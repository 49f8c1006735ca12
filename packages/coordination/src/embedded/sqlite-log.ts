// The file: a log of operations in order, and snapshots of partitions that stand for what was before
// the log's first record. A snapshot is rows, its parts; it counts once its last is there. One
// transaction is one batch, on disk before `write` returns. SQLite drops a transaction that was torn;
// a checksum per row finds what rotted since.

import { randomInt } from 'node:crypto';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { type FileService, logPages } from '@starloom/wire';
import type { LogBatch, LogProblem, LogReply, MissingRecords, SnapshotRow } from './log-thread.ts';

/** Of the log that SQLite keeps beside the file. */
const MAX_LOG_PAGES = 1000;
const MAX_ROWS_PER_REPLY = 512;
const BYTES_PER_REPLY = 1024 * 1024;
/** After the log was cut off; and at a time, so that no batch waits long for it. */
const PAGES_GIVEN_BACK = 8192;
const PAGES_PER_STEP = 256;

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
  readonly #path: string;
  #mark: LogMark | undefined;
  #last = 0;
  /** Pages to give back to the disk. */
  #spare = 0;

  /** Holds the file for itself until it is closed or the process ends, however that happens. */
  constructor(path: string) {
    this.#path = path;
    this.#database = new DatabaseSync(path);
    try {
      this.#prepareFile();
    } catch (error) {
      this.#database.close();
      throw error;
    }
    const prepared = Object.entries(STATEMENTS).map(([name, sql]) => [
      name,
      this.#database.prepare(sql),
    ]);
    this.#statements = Object.fromEntries(prepared);
  }

  /** All there is, and cuts off records at the end that cannot be read. */
  *load(): Iterable<LogReply> {
    this.#last = this.#meta('truncated');
    this.#database.prepare(DELETE_INCOMPLETE).run(this.#last);
    for (const rows of inReplies(this.#snapshots(), ({ text }) => text)) {
      yield { kind: 'snapshots', rows };
    }
    for (const texts of inReplies(this.#records(), (text) => text)) {
      yield { kind: 'records', first: this.#last - texts.length + 1, texts };
    }
    const cut = this.#database.prepare('DELETE FROM log WHERE sequence > ?').run(this.#last);
    this.#mark = new LogMark(this.#path, this.#id());
    const missing = this.#mark.missingAfter(this.#last);
    yield { kind: 'ready', now: this.#meta('now'), torn: Number(cut.changes), missing };
  }

  write({ records, snapshots, truncate }: LogBatch): void {
    this.#transact(() => {
      this.#append(records);
      this.#putParts(snapshots);
      if (truncate !== undefined) this.#truncate(truncate);
    });
    this.#last += records.length;
    this.#mark?.write(this.#last);
  }

  /**
   * A few free pages go back to the disk; true while there are more. Moving them needs room: where there is none they
   * stay until the log is cut off next, and the store goes on. A disk that fails is found by the next batch.
   */
  giveBack(): boolean {
    if (this.#spare <= 0) return false;
    this.#spare -= PAGES_PER_STEP;
    try {
      this.#database.exec(`PRAGMA incremental_vacuum(${PAGES_PER_STEP})`);
      return this.#spare > 0 && this.#pragma('freelist_count') > 0;
    } catch {
      this.#spare = 0;
      return false;
    }
  }

  close(): void {
    this.#mark?.close();
    this.#database.close();
  }

  /** Made once per file. */
  #id(): number {
    const known = this.#meta('id');
    if (known > 0) return known;
    const id = randomInt(1, 2 ** 48 - 1);
    this.#statements.setMeta.run('id', id);
    return id;
  }

  #prepareFile(): void {
    this.#database.exec('PRAGMA locking_mode = EXCLUSIVE');
    const id = this.#pragma('application_id');
    const tables = this.#database.prepare('SELECT count(*) AS n FROM sqlite_schema').get();
    if (id !== APPLICATION_ID && tables?.n !== 0) {
      throw new SqliteLogError('not_a_store', 'the file is a database of something else');
    }
    const format = this.#pragma('user_version');
    if (format > FORMAT) {
      throw new SqliteLogError('newer_store', 'the file was written by a newer version');
    }
    if (id !== APPLICATION_ID) this.#database.exec(NEW_FILE);
    this.#database.exec(PRAGMAS);
    const pages = logPages(dirname(this.#path), MAX_LOG_PAGES);
    this.#database.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
    this.#database.exec(`PRAGMA journal_size_limit = ${4 * pages * 4096}`);
    // A file that is as it should be is not written to: on a full disk it can be read.
    if (id === APPLICATION_ID && format === FORMAT) return;
    this.#transact(() => this.#database.exec(`${UPGRADES[format] ?? ''}${SCHEMA}`));
  }

  #transact(work: () => void): void {
    this.#database.exec('BEGIN EXCLUSIVE');
    try {
      work();
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  #append(records: LogBatch['records']): void {
    for (const [index, record] of records.entries()) {
      this.#statements.append.run(this.#last + 1 + index, crc32(record), record);
    }
  }

  #putParts(rows: LogBatch['snapshots']): void {
    const { putPart, deleteOlder } = this.#statements;
    for (const { partition, sequence, part, isLast, text } of rows) {
      putPart.run(partition, sequence, part, Number(isLast), crc32(text), text);
      if (isLast) deleteOlder.run(partition, sequence);
    }
  }

  #truncate({ sequence, now }: NonNullable<LogBatch['truncate']>): void {
    const { truncate, deleteEmpty, setMeta } = this.#statements;
    truncate.run(sequence);
    deleteEmpty.run(sequence);
    setMeta.run('truncated', sequence);
    setMeta.run('now', now);
    const isMostlyFree = this.#pragma('freelist_count') > 0.75 * this.#pragma('page_count');
    this.#spare = isMostlyFree ? PAGES_GIVEN_BACK : 0;
  }

  #pragma(name: 'application_id' | 'user_version' | 'freelist_count' | 'page_count'): number {
    return Number(this.#database.prepare(`PRAGMA ${name}`).get()?.[name]);
  }

  *#snapshots(): Iterable<SnapshotRow> {
    let next = 0;
    for (const row of this.#database.prepare(SELECT_PARTS).iterate()) {
      const { partition, sequence, part, is_last, crc, text } = row;
      const isGood = part === next && typeof text === 'string' && crc32(text) === crc;
      if (!isGood) throw corrupt(`snapshot ${partition}`);
      const isLast = is_last === 1;
      next = isLast ? 0 : next + 1;
      yield { partition: String(partition), sequence: Number(sequence), part, isLast, text };
    }
    if (next > 0) throw corrupt('the last snapshot');
  }

  *#records(): Iterable<string> {
    for (const row of this.#database.prepare('SELECT * FROM log ORDER BY sequence').iterate()) {
      const { sequence, crc, record } = row;
      if (typeof record !== 'string' || crc32(record) !== crc) continue;
      if (sequence !== this.#last + 1) throw corrupt(`record ${this.#last + 1}`);
      this.#last += 1;
      yield record;
    }
  }

  #meta(name: 'truncated' | 'now' | 'id'): number {
    const row = this.#database.prepare('SELECT value FROM meta WHERE name = ?').get(name);
    return Number(row?.value ?? 0);
  }
}

export function toLogProblem(error: unknown): LogProblem {
  if (error instanceof SqliteLogError) return { reason: error.reason, message: error.message };
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;
  return { reason: SQLITE_REASONS[code] ?? 'engine_unavailable/file', message };
}

/** SQLITE_BUSY, SQLITE_CORRUPT, SQLITE_NOTADB. */
const SQLITE_REASONS: Readonly<Record<number, LogProblem['reason']>> = {
  5: 'store_in_use',
  11: 'corrupt_store',
  26: 'not_a_store',
};

const STATEMENTS = {
  append: 'INSERT INTO log (sequence, crc, record) VALUES (?, ?, ?)',
  truncate: 'DELETE FROM log WHERE sequence <= ?',
  setMeta: 'INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)',
  putPart:
    'INSERT INTO snapshot (partition, sequence, part, is_last, crc, text) VALUES (?, ?, ?, ?, ?, ?)',
  deleteOlder: 'DELETE FROM snapshot WHERE partition = ? AND sequence < ?',
  /** Of partitions that were gone: until here they said that what the log has of them is over. */
  deleteEmpty: 'DELETE FROM snapshot WHERE sequence <= ? AND octet_length(text) = 0',
};

const SELECT_PARTS = 'SELECT * FROM snapshot ORDER BY partition, sequence, part';

/**
 * Their writer ended before the last part. Then the log was not cut off, and still has everything.
 */
const DELETE_INCOMPLETE = `
  DELETE FROM snapshot WHERE sequence > ? AND (partition, sequence) NOT IN (
    SELECT partition, sequence FROM snapshot WHERE is_last = 1
  )`;

/** A few at a time: as many as make up a message that is not too large. The last may be empty. */
function* inReplies<Row>(
  rows: Iterable<Row>,
  textOf: (row: Row) => string,
): Iterable<readonly Row[]> {
  let reply: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    reply.push(row);
    bytes += textOf(row).length;
    if (reply.length < MAX_ROWS_PER_REPLY && bytes < BYTES_PER_REPLY) continue;
    yield reply;
    reply = [];
    bytes = 0;
  }
  yield reply;
}

function corrupt(what: string): SqliteLogError {
  return new SqliteLogError(
    'corrupt_store',
    `${what} is damaged, and it is not the end of the log`,
  );
}

const MARK_LENGTH = 64;

/**
 * The last record that was acknowledged, in a small file beside the log. SQLite ends a damaged log
 * at the last transaction that is whole, without a word; by the mark that is noticed. It is written
 * after the record is on disk, and not flushed: it is never ahead of the log, and what is lost of it
 * with the power is only the notice.
 */
class LogMark {
  readonly #file: number;
  readonly #id: number;

  /** `id` is that of the log: a mark of another one says that this one was replaced. */
  constructor(path: string, id: number) {
    this.#file = openSync(`${path}-mark`, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.#id = id;
  }

  /** Which records are missing of a log whose last one is `last`. */
  missingAfter(last: number): MissingRecords | undefined {
    const buffer = Buffer.alloc(MARK_LENGTH);
    const length = readSync(this.#file, buffer, 0, MARK_LENGTH, 0);
    const [, id, sequence] = /^(\d+) (\d+) *\n$/.exec(buffer.toString('utf8', 0, length)) ?? [];
    if (id === undefined || sequence === undefined) return undefined;
    const kept = Number(id) === this.#id ? last : 0;
    const acknowledged = Number(sequence);
    return acknowledged > kept ? { first: kept + 1, last: acknowledged } : undefined;
  }

  write(last: number): void {
    const text = `${this.#id} ${last}`.padEnd(MARK_LENGTH - 1);
    writeSync(this.#file, `${text}\n`, 0);
  }

  close(): void {
    closeSync(this.#file);
  }
}

// What the file looks like. Format 1 had a snapshot in one row; that is one that is all in its first
// part.

/** "STLM": whose file this is. */
const APPLICATION_ID = 0x53544c4d;
const FORMAT = 2;

/** Of a new file, before anything else: what it does not need any more can be given back. */
const NEW_FILE = 'PRAGMA auto_vacuum = INCREMENTAL';

const PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
`;

const SNAPSHOT = `
  CREATE TABLE IF NOT EXISTS snapshot (
    partition TEXT NOT NULL, sequence INTEGER NOT NULL, part INTEGER NOT NULL,
    is_last INTEGER NOT NULL, crc INTEGER NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (partition, sequence, part)
  ) STRICT;
`;

const SCHEMA = `
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT};
  CREATE TABLE IF NOT EXISTS log (
    sequence INTEGER PRIMARY KEY, crc INTEGER NOT NULL, record TEXT NOT NULL
  ) STRICT;
  ${SNAPSHOT}
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
`;

/** From the format that a file has to the one that `SCHEMA` makes of it. */
const UPGRADES: Readonly<Record<number, string>> = {
  1: `
    ALTER TABLE snapshot RENAME TO whole;
    ${SNAPSHOT}
    INSERT INTO snapshot SELECT partition, sequence, 0, 1, crc, text FROM whole;
    DROP TABLE whole;
  `,
};

export const service: FileService<LogBatch, LogReply> = {
  open(path, reply) {
    const attempt = <Result>(work: () => Result): Result | undefined => {
      try {
        return work();
      } catch (error) {
        reply({ kind: 'failed', problem: toLogProblem(error) });
        return undefined;
      }
    };
    const log = attempt(() => new SqliteLog(path));
    attempt(() => {
      for (const message of log?.load() ?? []) reply(message);
    });
    return {
      take: (batch) =>
        attempt(() => {
          log?.write(batch);
          reply({ kind: 'done' });
        }),
      tidy: () => log?.giveBack() ?? false,
      close: () => attempt(() => log?.close()),
    };
  },
};
