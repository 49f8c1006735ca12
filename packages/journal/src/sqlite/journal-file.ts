// The file: a ring of calls and the sums of days. What a batch wrote survives the end of the process; a
// power cut may take the newest calls. Nothing is written while the disk is nearly full.
//
// Batches of a busy gateway are kept as blocks. The rows that queries search are made of them before a query, in the
// same transaction that removes the block: each call is in one place. Blocks that leave the ring before that never
// become rows.

import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { createPrivateFiles, diskRoom, logPages } from '@starloom/wire';
import type { CallBlock } from '../call-block.ts';
import {
  CALL_COLUMNS,
  firstKeptDay,
  type Row,
  rowsOf,
  type Statement,
  USAGE_COLUMNS,
  USAGE_KEY_COLUMNS,
  USAGE_SUM_COLUMNS,
  type UsageSum,
} from '../journal-table.ts';
import { failure } from '../reasons.ts';

/** "SLJR", in the header of the file. */
const APPLICATION_ID = 0x534c4a52;
/** Files of the first format have no blocks, and blocks of the second no kinds. */
const FORMAT = 3;
const OLDEST_FORMAT = 1;
const MAX_LOG_PAGES = 2000;
/** Four times the usual size: rows are large, and a third less is written. */
const PAGE_BYTES = 16_384;
/** So many become rows at once; other files of the thread are served after that. */
const CALLS_PER_STEP = 800;
/** A batch of at most so many calls becomes rows at once: a reader need not wait. */
const FEW_CALLS = 20;
const SPAN = CALL_COLUMNS.indexOf('span_id');

/**
 * Indexes grow at their end alone: with one on random ids, every call would change a page of its own. A trace is
 * found by a walk through `call_ended`, which has all it takes. Few calls run, so that `call_running` is small.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS call (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    trace_key INTEGER NOT NULL, trace_id TEXT NOT NULL, span_id TEXT NOT NULL, principal TEXT, behalf TEXT, agent TEXT,
    capability TEXT, face TEXT NOT NULL, code TEXT, began INTEGER NOT NULL, ended INTEGER,
    bucket INTEGER, gateway TEXT, record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS call_ended ON call (ended, agent, code, bucket, trace_key);
  CREATE INDEX IF NOT EXISTS call_running ON call (span_id) WHERE ended IS NULL;
  CREATE TABLE IF NOT EXISTS block (
    last_revision INTEGER PRIMARY KEY, calls INTEGER NOT NULL, text TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS usage (
    day INTEGER NOT NULL, principal TEXT NOT NULL, agent TEXT NOT NULL, tool TEXT NOT NULL,
    calls INTEGER NOT NULL, failed INTEGER NOT NULL, ms INTEGER NOT NULL, cost REAL NOT NULL,
    bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL,
    PRIMARY KEY (day, principal, agent, tool)
  ) STRICT, WITHOUT ROWID;
`;

const marks = (columns: readonly string[]) => columns.map(() => '?').join(', ');
const INSERT = `INSERT INTO call (revision, ${CALL_COLUMNS.join(', ')}) VALUES (?, ${marks(CALL_COLUMNS)})`;
const SUM = `INSERT INTO usage (${USAGE_COLUMNS.join(', ')}) VALUES (${marks(USAGE_COLUMNS)})
  ON CONFLICT (${USAGE_KEY_COLUMNS.join(', ')}) DO UPDATE SET
  ${USAGE_SUM_COLUMNS.map((column) => `${column} = ${column} + excluded.${column}`).join(', ')}`;

export class JournalFile {
  readonly #folder: string | undefined;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #newest = 0;
  #hasBlocks = true;
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

  append(blocks: readonly CallBlock[], sums: readonly UsageSum[], calls: number): void {
    if (!this.#hasRoom) throw failure('disk_full');
    const newest = blocks.reduce((sum, block) => sum + block.calls, this.#newest);
    this.#transact(() => {
      this.#statement('DELETE FROM block WHERE last_revision <= ?').run(newest - calls);
      this.#statement('DELETE FROM call WHERE revision <= ?').run(newest - calls);
      const insert = this.#statement('INSERT INTO block VALUES (?, ?, ?)');
      // A call that runs may be in a block, and its end must find it.
      const isFew = newest - this.#newest <= FEW_CALLS && !this.#hasBlocks;
      let last = this.#newest;
      for (const { calls: count, text } of blocks) {
        last += count;
        if (isFew) this.#insertRows(text, last - count, newest - calls);
        else if (last > newest - calls) insert.run(last, count, text);
      }
      if (!isFew) this.#hasBlocks = true;
      const sum = this.#statement(SUM);
      for (const one of sums) sum.run(...one);
      this.#prune(sums);
    });
    this.#newest = newest;
  }

  /** Makes rows of the oldest blocks; false when there is none. A full disk leaves them for later. */
  index(calls: number): boolean {
    if (!this.#hasBlocks || !this.#hasRoom) return false;
    const blocks: { readonly last: number; readonly count: number; readonly text: string }[] = [];
    let waiting = 0;
    const oldest = 'SELECT last_revision, calls, text FROM block ORDER BY last_revision';
    for (const row of this.#statement(oldest).iterate()) {
      const count = Number(row.calls);
      blocks.push({ last: Number(row.last_revision), count, text: String(row.text) });
      waiting += count;
      if (waiting >= CALLS_PER_STEP) break;
    }
    this.#transact(() => {
      const drop = this.#statement('DELETE FROM block WHERE last_revision = ?');
      for (const { last, count, text } of blocks) {
        this.#insertRows(text, last - count, this.#newest - calls);
        drop.run(last);
      }
    });
    this.#hasBlocks = waiting >= CALLS_PER_STEP;
    return this.#hasBlocks;
  }

  /** Each takes the place of a row that runs. What left the ring is not inserted. */
  #insertRows(
    text: string,
    before: number,
    cut: number,
    prepare = (sql: string) => this.#statement(sql),
  ): void {
    const insert = prepare(INSERT);
    const replace = prepare('DELETE FROM call WHERE ended IS NULL AND span_id = ?');
    for (const [index, row] of rowsOf({ text }).entries()) {
      const revision = before + index + 1;
      if (revision <= cut) continue;
      replace.run(row[SPAN] ?? null);
      insert.run(revision, ...row);
    }
  }

  /** Of the newest `calls`. */
  count(calls: number): number {
    const sql = `SELECT (SELECT count(*) FROM call) + (SELECT total(calls) FROM block) AS n`;
    return Math.min(Number(this.#statement(sql).get()?.n), calls);
  }

  query({ sql, values }: Statement): readonly Row[] {
    if (this.#hasBlocks && !this.#hasRoom) return this.#queryCopy({ sql, values });
    return this.#statement(sql).all(...values) as Row[];
  }

  /** On a full disk no rows can be made: a copy in memory, which hides the table, has them for one query. */
  #queryCopy({ sql, values }: Statement): readonly Row[] {
    const blocks = this.#statement('SELECT last_revision, calls, text FROM block').all();
    this.#database.exec('CREATE TEMP TABLE call AS SELECT * FROM main.call');
    try {
      // Statements that were made before mean the table of the file.
      const prepare = (text: string) => this.#database.prepare(text);
      for (const { last_revision: last, calls, text } of blocks)
        this.#insertRows(String(text), Number(last) - Number(calls), 0, prepare);
      return prepare(sql).all(...values) as Row[];
    } finally {
      this.#database.exec('DROP TABLE temp.call');
    }
  }

  /** Writes the file again from the start: freed pages keep what they held. */
  remove(statements: readonly Statement[]): void {
    if (!this.#hasRoom) throw failure('disk_full');
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

  get #hasRoom(): boolean {
    return this.#folder === undefined || diskRoom(this.#folder).room > 0;
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
    const tables = this.#statement('SELECT count(*) AS n FROM sqlite_schema').get();
    const isOurs = this.#pragma('application_id') === APPLICATION_ID;
    if (!isOurs && tables?.n !== 0) throw failure('foreign');
    const format = this.#pragma('user_version');
    if (format > FORMAT) throw failure('newer_store');
    if (isOurs && format < OLDEST_FORMAT) throw failure('older_store');
    if (!isOurs) this.#database.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
    const most = this.#folder === undefined ? MAX_LOG_PAGES : logPages(this.#folder, MAX_LOG_PAGES);
    const logBytes = most * 4096;
    this.#database.exec(`
      PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;
      PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = ${Math.ceil(logBytes / PAGE_BYTES)};
      PRAGMA journal_size_limit = ${logBytes};
    `);
    const marked = `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT}`;
    this.#transact(() => this.#database.exec(`${SCHEMA} ${marked}`));
    const newest = `SELECT max(ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'call'), 0),
      ifnull((SELECT max(last_revision) FROM block), 0)) AS n`;
    this.#newest = Number(this.#statement(newest).get()?.n);
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
