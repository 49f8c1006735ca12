import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Clock, type JobEngine, LedgerJobEngine, systemClock } from '@starloom/core';
import { DocumentFolder } from './document-folder.ts';
import { LedgerThread } from './sqlite/ledger-thread.ts';

export interface SqliteJobsOptions {
  /** The database file; large documents go to the folder `documents` beside it. */
  readonly path: string;
  readonly clock?: Clock;
  readonly inlineBytes?: number;
}

/** Jobs in one file of this machine, for one gateway. */
export async function openSqliteJobs(options: SqliteJobsOptions): Promise<JobEngine> {
  const { path, clock = systemClock, inlineBytes } = options;
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  const thread = await LedgerThread.open(path);
  const documents = new DocumentFolder({
    path: join(folder, 'documents'),
    ...(inlineBytes !== undefined && { inlineBytes }),
  });
  return new LedgerJobEngine({
    kind: 'sqlite',
    ledger: thread.ledger,
    clock,
    documents,
    check: () => thread.check(),
    close: () => thread.close(),
  });
}
