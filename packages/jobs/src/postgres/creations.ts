// Group commit: while one batch of new jobs is on its way, all that come in wait for the next.

import type { Job } from '@starloom/core';
import type { BossQueue } from './boss-queue.ts';
import type { Database, DatabaseSession } from './database.ts';
import * as rows from './job-rows.ts';
import { READY } from './schema.ts';

export interface Creation {
  readonly job: Job;
  readonly call: string;
}

const MOST_PER_BATCH = 500;
/** Batches under way at once. */
const MOST_BATCHES = 2;

interface Waiting extends Creation {
  resolve(): void;
  reject(error: unknown): void;
}

export class Creations {
  readonly #database: Database;
  readonly #queue: BossQueue;
  readonly #waiting: Waiting[] = [];
  readonly #batches = new Set<Promise<void>>();
  #isScheduled = false;

  constructor(database: Database, queue: BossQueue) {
    this.#database = database;
    this.#queue = queue;
  }

  /** Resolves when the job is committed. */
  add(creation: Creation): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...creation, resolve, reject });
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      setImmediate(() => {
        this.#isScheduled = false;
        this.#next();
      });
    });
  }

  /** In the transaction of the session. */
  async insert(session: DatabaseSession, creations: readonly Creation[]): Promise<void> {
    const places = creations.map(({ job }) => ({ job, readyAt: job.run_at }));
    const entries = await this.#queue.add(session, 'run', places);
    const made = creations.map(({ job, call }, index) => ({
      job,
      call,
      entry: entries[index] ?? '',
    }));
    await rows.insertJobs(session, made);
    await rows.notify(session, [READY]);
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#batches.size > 0 || this.#isScheduled) {
      await Promise.all(this.#batches);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #next(): void {
    while (this.#waiting.length > 0 && this.#batches.size < MOST_BATCHES) {
      const batch = this.#waiting.splice(0, MOST_PER_BATCH);
      const done = this.#run(batch).finally(() => {
        this.#batches.delete(done);
        this.#next();
      });
      this.#batches.add(done);
    }
  }

  async #run(batch: readonly Waiting[]): Promise<void> {
    try {
      await this.#database.transact((session) => this.insert(session, batch));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
