import { type Clock, Closers, type JobEngine, type Log, silentLog } from '@starloom/core';
import { DocumentFolder } from './document-folder.ts';
import { LedgerJobEngine } from './ledger/ledger-engine.ts';
import { Watchers } from './ledger/watchers.ts';
import { Database } from './postgres/database.ts';
import { Notifications } from './postgres/notifications.ts';
import { PostgresLedger } from './postgres/postgres-ledger.ts';
import { prepareTables } from './postgres/schema.ts';

export interface PostgresJobsOptions {
  /** `postgres://…` */
  readonly url: string;
  /** A folder for large documents; all gateways of one database share it. */
  readonly documents: string;
  readonly maxConnections?: number;
  readonly inlineBytes?: number;
  /** Instead of the time of the database. */
  readonly clock?: Clock;
  readonly log?: Log;
}

/** Jobs in Postgres, for any number of gateways. */
export async function openPostgresJobs(options: PostgresJobsOptions): Promise<JobEngine> {
  const { url, documents, maxConnections = 10, inlineBytes, log = silentLog } = options;
  const watchers = new Watchers();
  const time = new DatabaseClock();
  const onError = (err: unknown) => log.warn({ err }, 'job database: connection lost');
  const database = await Database.open({ url, maxConnections, onError });
  const opened = new Closers();
  opened.add(() => database.close());
  try {
    await database.transact(prepareTables);
    const notifications = await Notifications.open({
      url,
      onHint: (payload) => watchers.notify(payload),
      onGap: () => watchers.notifyAll(),
      onTime: (now) => time.set(now),
      onError,
    });
    opened.add(() => notifications.close());
    const ledger = new PostgresLedger(database);
    opened.add(() => ledger.idle());
    return new LedgerJobEngine({
      kind: 'postgres',
      ledger: ledger.ledger,
      documents: new DocumentFolder({
        path: documents,
        ...(inlineBytes !== undefined && { inlineBytes }),
      }),
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

/** The time of the database, once it is known: gateways agree on leases, however their own clocks are set. */
class DatabaseClock implements Clock {
  #now = Date.now();
  #at = performance.now();

  set(now: number): void {
    this.#now = now;
    this.#at = performance.now();
  }

  now(): number {
    return Math.floor(this.#now + this.monotonic() - this.#at);
  }

  monotonic(): number {
    return performance.now();
  }
}
