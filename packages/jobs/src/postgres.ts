import {
  type Clock,
  Closers,
  type JobEngine,
  type Log,
  silentLog,
  systemClock,
} from '@starloom/core';
import { DocumentFolder } from './document-folder.ts';
import { Watchers } from './ledger/watchers.ts';
import { BossQueue } from './postgres/boss-queue.ts';
import { Database } from './postgres/database.ts';
import { Notifications } from './postgres/notifications.ts';
import { PostgresJobEngine } from './postgres/postgres-job-engine.ts';
import { SCHEMA, SCHEMA_LOCK } from './postgres/schema.ts';

export interface PostgresJobsOptions {
  /** `postgres://…` */
  readonly url: string;
  /** A folder for large documents; all gateways of one database share it. */
  readonly documents: string;
  /** A worker that is silent for so long has lost its job. Whole seconds. */
  readonly leaseMs?: number;
  readonly maxConnections?: number;
  readonly inlineBytes?: number;
  readonly clock?: Clock;
  readonly log?: Log;
}

/** Jobs in Postgres, for any number of gateways. */
export async function openPostgresJobs(options: PostgresJobsOptions): Promise<JobEngine> {
  const { url, documents, leaseMs = 30_000, maxConnections = 10, inlineBytes } = options;
  const { clock = systemClock, log = silentLog } = options;
  const watchers = new Watchers();
  const onError = (err: unknown) => log.warn({ err }, 'job database: connection lost');
  const database = await Database.open({ url, maxConnections, onError });
  const opened = new Closers();
  opened.add(() => database.close());
  try {
    const queue = await database.exclusively(SCHEMA_LOCK, async () => {
      await database.executeSql(SCHEMA);
      return BossQueue.open({ database, leaseMs, clock, onError });
    });
    opened.add(() => queue.close());
    const notifications = await Notifications.open({
      url,
      onHint: (payload) => watchers.notify(payload),
      onGap: () => watchers.notifyAll(),
      onError,
    });
    opened.add(() => notifications.close());
    return new PostgresJobEngine({
      database,
      queue,
      documents: new DocumentFolder({
        path: documents,
        ...(inlineBytes !== undefined && { inlineBytes }),
      }),
      clock,
      watchers,
      close: () => opened.close(),
    });
  } catch (error) {
    await opened.close();
    throw error;
  }
}
