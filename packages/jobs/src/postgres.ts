import { Closers, type JobEngine, silentLog } from '@starloom/core';
import { Database, DatabaseClock, Notifications } from '@starloom/wire/postgres';
import { DocumentFolder } from './document-folder.ts';
import { type KeptJobsOptions, LedgerJobEngine, Watchers } from './ledger/ledger-engine.ts';
import { PostgresLedger } from './postgres/postgres-ledger.ts';
import { CHANNEL, prepareTables } from './postgres/schema.ts';

export interface PostgresJobsOptions extends KeptJobsOptions {
  /** `postgres://…` */
  readonly url: string;
  /** A folder for large documents; all gateways of one database share it. */
  readonly documents: string;
  readonly maxConnections?: number;
}

/** Jobs in Postgres, for any number of gateways. */
export async function openPostgresJobs(options: PostgresJobsOptions): Promise<JobEngine> {
  const { url, documents, maxConnections = 10, inlineBytes, log = silentLog } = options;
  const watchers = new Watchers();
  const time = new DatabaseClock();
  const onError = (err: unknown) => log.warn({ err }, 'job database: connection lost');
  const database = await Database.open({
    url,
    what: 'job database',
    application: 'starloom-jobs',
    maxConnections,
    onError,
  });
  const opened = new Closers();
  opened.add(() => database.close());
  try {
    await database.transact(prepareTables);
    const notifications = await Notifications.open({
      url,
      channel: CHANNEL,
      application: 'starloom-jobs-listen',
      onHint: (payload) => watchers.notify(payload),
      onGap: () => watchers.notifyAll(),
      time,
      onError,
    });
    opened.add(() => notifications.close());
    const ledger = new PostgresLedger(database);
    opened.add(() => ledger.idle());
    return new LedgerJobEngine({
      kind: 'postgres',
      ledger: ledger.ledger,
      documents: new DocumentFolder({ path: documents, inlineBytes }),
      clock: options.clock ?? time,
      watchers,
      check: () => ledger.check(),
      close: () => opened.close(),
    });
  } catch (error) {
    await opened.close();
    throw error;
  }
}
