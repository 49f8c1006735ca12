// As much as a single writer on `node:sqlite` can take: the bytes that the store writes for an
// update, in batches as large as what the store has in flight; in a file flushed as the store
// flushes, or in memory.

import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { FabricError } from '@starloom/core';
import { measureHere } from './measure-here.ts';
import { type CellName, IN_FLIGHT, VALUE } from './plan.ts';
import type { UpdateTarget } from './update-target.ts';

export class BareJournal implements Disposable {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #record: string;

  /** Without a path it is in memory. */
  constructor(record: string, path = ':memory:') {
    this.#database = new DatabaseSync(path);
    this.#database.exec(SCHEMA);
    this.#insert = this.#database.prepare('INSERT INTO log (record) VALUES (?)');
    this.#record = record;
  }

  target(cell: CellName): UpdateTarget {
    const step = () => this.#writeBatch();
    return {
      cell,
      name: 'bare',
      measure: (slice) => {
        this.#database.exec('DELETE FROM log');
        return measureHere({ workers: 1, updatesPerStep: IN_FLIGHT, step }, slice);
      },
    };
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  #writeBatch(): void {
    this.#database.exec('BEGIN');
    for (let count = 0; count < IN_FLIGHT; count += 1) this.#insert.run(this.#record);
    this.#database.exec('COMMIT');
  }
}

/** The record of an update in the file of a store that was closed. */
export function writtenRecord(path: string): string {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const rows = database.prepare('SELECT record FROM log').all();
    const record = rows.map((row) => String(row.record)).find((text) => text.includes(VALUE.text));
    if (record !== undefined) return record;
    throw new FabricError('INTERNAL', 'The store wrote no record of the update');
  } finally {
    database.close();
  }
}

const SCHEMA = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE log (sequence INTEGER PRIMARY KEY, record TEXT NOT NULL) STRICT;
`;
