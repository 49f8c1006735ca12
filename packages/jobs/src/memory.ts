import { type Clock, systemClock } from '@starloom/core';
import { JobLedger } from './ledger/job-ledger.ts';
import { LedgerJobEngine, type RemoteLedger } from './ledger/ledger-engine.ts';
import { SCHEMA } from './sqlite/schema.ts';
import { SqliteJobTables } from './sqlite/sqlite-job-tables.ts';

/** Jobs that live as long as the process. */
export function createMemoryJobEngine(
  clock: Clock = systemClock,
  tables = new MemoryJobTables(),
): LedgerJobEngine {
  const ledger = toRemote(new JobLedger(tables));
  return new LedgerJobEngine({ kind: 'memory', ledger, clock });
}

/** The tables of SQLite without a file. */
export class MemoryJobTables extends SqliteJobTables {
  constructor() {
    // Loaded here: a gateway whose jobs are in a file or in Postgres needs it in no thread but that of files.
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
    const database = new DatabaseSync(':memory:');
    super(database);
    database.exec(SCHEMA);
  }
}

function toRemote(ledger: JobLedger): RemoteLedger {
  return new Proxy(ledger, {
    get: (target, name: keyof JobLedger) => {
      const method = target[name] as (...args: unknown[]) => unknown;
      return async (...args: unknown[]) => method.apply(target, args);
    },
  }) as unknown as RemoteLedger;
}
