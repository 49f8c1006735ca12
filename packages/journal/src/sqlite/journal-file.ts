// The file: a ring of calls and the sums of days. What a batch wrote survives the end of the process; a
// power cut may take the newest calls. Nothing is written while the disk is nearly full.

import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { createPrivateFiles, diskRoom, logPages } from '@starloom/wire';
import {
  CALL_COLUMNS,
  firstKeptDay,
  type Row,
  type Statement,
  USAGE_COLUMNS,
  USAGE_KEY_COLUMNS,
  USAGE_SUM_COLUMNS,
  type UsageSum,
  type Value,
} from '../journal-table.ts';
import { failure } from '../reasons.ts';

/** "SLJR", in the header of the file. */
const APPLICATION_ID = 0x534c4a52;
const FORMAT = 1;
const MAX_LOG_PAGES = 2000;
/** Four times the usual size: rows are large, and a third less is written. */
const PAGE_BYTES = 16_384;
/** The ring is cut off every so many calls. */
const CUT_EVERY = 500;
const SPAN = CALL_COLUMNS.indexOf('span_id');
const ENDED = CALL_COLUMNS.indexOf('ended');

/**
 * Indexes grow at their end alone: with one on random ids, every call would change a page of its own. A trace is
 * found by a walk through `call_ended`, which has all it takes.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS call (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    trace_key INTEGER NOT NULL, trace_id TEXT NOT NULL, span_id TEXT NOT NULL, principal TEXT, behalf TEXT, agent TEXT,
    capability TEXT, face TEXT NOT NULL, code TEXT, began INTEGER NOT NULL, ended INTEGER,
    bucket INTEGER, gateway TEXT, record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS call_ended ON call (ended, agent, code, bucket, trace_key);
  CREATE TABLE IF NOT EXISTS usage (
    day INTEGER NOT NULL, principal TEXT NOT NULL, agent TEXT NOT NULL, tool TEXT NOT NULL,
    calls INTEGER NOT NULL, failed INTEGER NOT NULL, ms INTEGER NOT NULL, cost REAL NOT NULL,
    bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL,
    PRIMARY KEY (day, principal, agent, tool)
  ) STRICT, WITHOUT ROWID;
`;

const marks = (columns: readonly string[]) => columns.map(() => '?').join(', ');
const INSERT = `INSERT INTO call (${CALL_COLUMNS.join(', ')}) VALUES (${marks(CALL_COLUMNS)})`;
const SUM = `INSERT INTO usage (${USAGE_COLUMNS.join(', ')}) VALUES (${marks(USAGE_COLUMNS)})
  ON CONFLICT (${USAGE_KEY_COLUMNS.join(', ')}) DO UPDATE SET
  ${USAGE_SUM_COLUMNS.map((column) => `${column} = ${column} + excluded.${column}`).join(', ')}`;

export class JournalFile {
  readonly #folder: string | undefined;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** By span id, at their revision. */
  readonly #running = new Map<string, number>();
  #prunedDay = 0;

  /** Holds the file for itself until it is closed or the process ends. */
  constructor(path: string) {
    this.#folder = path === ':memory:' ? undefined : dirname(path);
    if (this.#folder !== undefined) createPrivateFiles(path);
    this.#database = new DatabaseSync(path);
    try {
      this.#prepare();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  append(values: readonly Value[], sums: readonly UsageSum[], calls: number): void {
    if (this.#folder !== undefined && diskRoom(this.#folder).room <= 0) throw failure('disk_full');
    this.#transact(() => {
      const insert = this.#statement(INSERT);
      const drop = this.#statement('DELETE FROM call WHERE revision = ?');
      const cut = this.#statement('DELETE FROM call WHERE revision <= ?');
      const every = Math.min(CUT_EVERY, Math.ceil(calls / 10));
      let newest = 0;
      for (let at = 0; at < values.length; at += CALL_COLUMNS.length) {
        const row = values.slice(at, at + CALL_COLUMNS.length);
        newest = Number(insert.run(...row).lastInsertRowid);
        const before = this.#note(row, newest);
        if (before !== undefined) drop.run(before);
        if (newest % every === 0) cut.run(newest - calls);
      }
      const sum = this.#statement(SUM);
      for (const one of sums) sum.run(...one);
      this.#prune(sums);
    });
  }

  /** Where the call was written while it ran. Few calls run long, so that no index is needed. */
  #note(row: readonly Value[], revision: number): number | undefined {
    const id = String(row[SPAN]);
    const before = this.#running.get(id);
    if (row[ENDED] === null) this.#running.set(id, revision);
    else if (before !== undefined) this.#running.delete(id);
    return before;
  }

  query({ sql, values }: Statement): readonly Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }

  /** Writes the file again from the start: freed pages keep what they held. */
  remove(statements: readonly Statement[]): void {
    this.#transact(() => {
      for (const { sql, values } of statements) this.#statement(sql).run(...values);
    });
    this.#database.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
  }

  close(): void {
    this.#database.close();
  }

  #transact(work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  /** Once a day. */
  #prune(sums: readonly UsageSum[]): void {
    const day = firstKeptDay(sums);
    if (day <= this.#prunedDay) return;
    this.#prunedDay = day;
    this.#statement('DELETE FROM usage WHERE day < ?').run(day);
  }

  #prepare(): void {
    this.#database.exec('PRAGMA locking_mode = EXCLUSIVE');
    const [tables] = this.query({ sql: 'SELECT count(*) AS n FROM sqlite_schema', values: [] });
    const isOurs = this.#pragma('application_id') === APPLICATION_ID;
    if (!isOurs && tables?.n !== 0) throw failure('foreign');
    const format = this.#pragma('user_version');
    if (format > FORMAT) throw failure('newer_store');
    if (isOurs && format < FORMAT) throw failure('older_store');
    if (!isOurs)
      this.#database.exec(
        `PRAGMA page_size = ${PAGE_BYTES}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT}`,
      );
    const most = this.#folder === undefined ? MAX_LOG_PAGES : logPages(this.#folder, MAX_LOG_PAGES);
    const logBytes = most * 4096;
    this.#database.exec(`
      PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;
      PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = ${Math.ceil(logBytes / PAGE_BYTES)};
      PRAGMA journal_size_limit = ${logBytes};
    `);
    this.#database.exec(SCHEMA);
    const running = 'SELECT span_id, revision FROM call WHERE ended IS NULL';
    for (const row of this.query({ sql: running, values: [] })) {
      this.#running.set(String(row.span_id), Number(row.revision));
    }
  }

  #pragma(name: string): number {
    return Number(this.#database.prepare(`PRAGMA ${name}`).get()?.[name]);
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#database.prepare(sql);
    if (this.#statements.size < MAX_STATEMENTS) this.#statements.set(sql, statement);
    return statement;
  }
}

/** Filters make many statements; those that write come first. */
const MAX_STATEMENTS = 100;
