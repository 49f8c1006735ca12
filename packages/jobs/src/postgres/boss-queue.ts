// The places in the queue, kept by pg-boss: it claims, expires by heartbeat, retries with backoff and
// runs cron. Every method takes the session of a transaction in which our tables are written too.

import type { Clock, Job, QueuePurpose } from '@starloom/core';
import type { Clock as BossClock, Job as BossJob, PgBoss } from 'pg-boss';
import type { Database, DatabaseSession } from './database.ts';
import { BOSS_SCHEMA } from './schema.ts';

export interface BossQueueOptions {
  readonly database: Database;
  /** A worker that is silent for so long has lost its job. */
  readonly leaseMs: number;
  readonly clock?: Clock | undefined;
  readonly onError: (error: unknown) => void;
}

/** What a place is for: a job, or a schedule that is due. */
export interface EntryData {
  readonly job?: string;
  readonly schedule?: string;
  /** Claims of earlier places of the same job and purpose. */
  readonly tries?: number;
}

export interface NewPlace {
  readonly job: Job;
  readonly readyAt?: number | undefined;
  readonly tries?: number;
}

/** A place that was claimed; `retryCount` tells this claim from every other one of the same place. */
export type Entry = Pick<BossJob<EntryData>, 'id' | 'retryCount' | 'data'>;

const QUEUES: Readonly<Record<QueuePurpose, string>> = { run: 'jobs', webhook: 'webhooks' };
/** As long as anything: only heartbeats and our own deadlines end a job. */
const TEN_YEARS_S = 10 * 365 * 24 * 60 * 60;
const KEEP_DONE_S = 60;
const NO_LIMIT = 2 ** 31 - 1;

export class BossQueue {
  readonly #boss: PgBoss;
  readonly #leaseMs: number;

  private constructor(boss: PgBoss, leaseMs: number) {
    this.#boss = boss;
    this.#leaseMs = leaseMs;
  }

  static async open({ database, leaseMs, clock, onError }: BossQueueOptions): Promise<BossQueue> {
    const { PgBoss } = await import('pg-boss');
    const watchS = Math.max(1, Math.floor(leaseMs / 4000));
    const boss = new PgBoss({
      db: database.raw,
      schema: BOSS_SCHEMA,
      superviseIntervalSeconds: watchS,
      monitorIntervalSeconds: watchS,
      maintenanceIntervalSeconds: KEEP_DONE_S,
      cronMonitorIntervalSeconds: 15,
      ...(isBossClock(clock) && { clock }),
    });
    boss.on('error', onError);
    await boss.start();
    for (const name of Object.values(QUEUES)) {
      await boss.createQueue(name, {
        deleteAfterSeconds: KEEP_DONE_S,
        retentionSeconds: TEN_YEARS_S,
      });
    }
    return new BossQueue(boss, leaseMs);
  }

  /** The id of the new place per job, in order. */
  async add(
    session: DatabaseSession,
    purpose: QueuePurpose,
    places: readonly NewPlace[],
  ): Promise<readonly string[]> {
    const entries = places.map(({ job, readyAt, tries = 0 }) => ({
      id: crypto.randomUUID(),
      data: { job: job.id, tries },
      priority: job.priority,
      ...(readyAt !== undefined && { startAfter: new Date(readyAt).toISOString() }),
      ...(job.agent_id !== undefined && purpose === 'run' && { group: { id: job.agent_id } }),
      retryLimit: NO_LIMIT,
      retryDelay: Math.max(0, Math.round(job.retry.backoff_ms / 1000)),
      retryBackoff: true,
      retryDelayMax: Math.max(1, Math.round(job.retry.max_backoff_ms / 1000)),
      expireInSeconds: TEN_YEARS_S,
      retentionSeconds: TEN_YEARS_S,
      heartbeatSeconds: Math.max(1, Math.ceil(this.#leaseMs / 1000)),
    }));
    await this.#boss.insert(QUEUES[purpose], entries, { db: session });
    return entries.map(({ id }) => id);
  }

  fetch(
    session: DatabaseSession,
    purpose: QueuePurpose,
    options: { readonly limit: number; readonly perAgent: number | undefined },
  ): Promise<readonly Entry[]> {
    return this.#boss.fetch<EntryData>(QUEUES[purpose], {
      db: session,
      batchSize: options.limit,
      ...(options.perAgent !== undefined && { groupConcurrency: options.perAgent }),
    });
  }

  /** Whether it is claimed, queued or done already: afterwards it is done. */
  async complete(
    session: DatabaseSession,
    purpose: QueuePurpose,
    ids: readonly string[],
  ): Promise<void> {
    if (ids.length === 0) return;
    await this.#boss.complete(QUEUES[purpose], [...ids], null, {
      db: session,
      includeQueued: true,
    });
  }

  /** Back in the queue, after the backoff of the job. Nothing for a claim that is no longer good. */
  async retry(session: DatabaseSession, entry: Omit<Entry, 'data'>): Promise<void> {
    await this.#boss.fail(QUEUES.run, entry, null, { db: session });
  }

  /** Which of them are still claimed as they were. */
  async touch(purpose: QueuePurpose, entries: readonly Omit<Entry, 'data'>[]): Promise<boolean[]> {
    if (entries.length === 0) return [];
    const done = await this.#boss.touch(QUEUES[purpose], [...entries]);
    if (affectedBy(done) === entries.length) return entries.map(() => true);
    const each = entries.map((entry) => this.#boss.touch(QUEUES[purpose], entry));
    return (await Promise.all(each)).map((one) => affectedBy(one) === 1);
  }

  async schedule(name: string, cron: string, timezone: string): Promise<void> {
    const options = { key: name, tz: timezone, retryLimit: 100 };
    await this.#boss.schedule(QUEUES.run, cron, { schedule: name }, options);
  }

  async unschedule(name: string): Promise<void> {
    await this.#boss.unschedule(QUEUES.run, name);
  }

  async close(): Promise<void> {
    await this.#boss.stop({ close: false, graceful: false });
  }
}

function affectedBy(response: object): number {
  return Number((response as { affected?: number }).affected ?? 0);
}

/** A clock of tests that owns timers as well. */
function isBossClock(clock: Clock | undefined): clock is Clock & BossClock {
  return clock !== undefined && 'setInterval' in clock;
}
