import { dirname, join } from 'node:path';
import { type JobEngine, silentLog, systemClock } from '@starloom/core';
import { diskRoom, keepReserve } from '@starloom/wire';
import { DocumentFolder } from './document-folder.ts';
import { type KeptJobsOptions, LedgerJobEngine } from './ledger/ledger-engine.ts';
import { LedgerThread } from './sqlite/ledger-thread.ts';

export interface SqliteJobsOptions extends KeptJobsOptions {
  /** The database file; large documents go to the folder `documents` beside it. */
  readonly path: string;
}

const LOOK_MS = 10_000;

/** Jobs in one file of this machine, for one gateway. */
export async function openSqliteJobs(options: SqliteJobsOptions): Promise<JobEngine> {
  const { path, clock = systemClock, log = silentLog, inlineBytes } = options;
  const folder = dirname(path);
  const thread = await LedgerThread.open(path);
  if (thread.problem) {
    log.error({ error: thread.problem }, 'jobs are not available; calls of agents go on');
  }
  let isLow = false;
  let keeping = Promise.resolve();
  const look = () => {
    const { room } = diskRoom(folder);
    if (room > 0)
      keeping = keepReserve(folder).catch((err: unknown) => log.warn({ err }, 'no reserve'));
    if (room <= 0 === isLow) return;
    isLow = !isLow;
    if (isLow) log.warn({ folder }, 'the disk is nearly full: new jobs are refused');
    else log.info({ folder }, 'the disk has room again: new jobs are taken');
  };
  look();
  await keeping;
  const looking = setInterval(look, LOOK_MS).unref();
  const documents = new DocumentFolder({ path: join(folder, 'documents'), inlineBytes });
  return new LedgerJobEngine({
    kind: 'sqlite',
    ledger: thread.ledger,
    clock,
    documents,
    check: () => thread.check(),
    close: async () => {
      clearInterval(looking);
      await keeping;
      await thread.close();
    },
  });
}
