// The steps of jobs in Postgres, each one transaction. Locks are taken in one order, first the place,
// then the job, so that a worker that finishes and one that claims never wait for each other.

import {
  type Claim,
  FabricError,
  isFinal,
  type Job,
  type JobEvent,
  type StoredJob,
} from '@starloom/core';
import type { JobDocuments } from '../ledger/ledger-engine.ts';
import { SMALL_CALL_BYTES, storedBytes } from '../ledger/stored-text.ts';
import type { Watchers } from '../ledger/watchers.ts';
import type { BossQueue, Entry } from './boss-queue.ts';
import type { Database, DatabaseSession } from './database.ts';
import * as rows from './job-rows.ts';
import { READY } from './schema.ts';

export interface JobStepsOptions {
  readonly database: Database;
  readonly queue: BossQueue;
  readonly documents: JobDocuments;
  readonly watchers: Watchers;
}

/** How often a step starts again because the job changed its place meanwhile. */
const MOST_TRIES = 20;

/** What a step does to a job; `entry` and `lease` stay unless they are given. */
export interface Change {
  readonly job: Job;
  readonly events?: readonly JobEvent[];
  readonly entry?: string | null;
  readonly lease?: string | null;
  readonly result?: string;
  readonly isReady?: boolean;
}

export class JobSteps {
  readonly #database: Database;
  readonly #queue: BossQueue;
  readonly #documents: JobDocuments;
  readonly #watchers: Watchers;

  constructor({ database, queue, documents, watchers }: JobStepsOptions) {
    this.#database = database;
    this.#queue = queue;
    this.#documents = documents;
    this.#watchers = watchers;
  }

  async read(id: string) {
    if (!isId(id)) return undefined;
    return (await rows.readJobs(this.#database, [id], false)).get(id);
  }

  async toStored(job: Job, result: string | null): Promise<StoredJob> {
    if (result === null) return job;
    return { ...job, result: JSON.parse(await this.#documents.load(result)) };
  }

  /**
   * A step of the worker that holds the claim; false when it does not. `place` says what becomes of the
   * place in the queue, before the job is locked.
   */
  async held(
    claim: Claim,
    change: (job: Job, session: DatabaseSession) => Promise<Change>,
    place?: 'complete' | 'retry',
  ): Promise<boolean> {
    const { id } = claim.job;
    const entry = toEntry(claim);
    const lost = new Error('the claim is lost');
    const step = async (session: DatabaseSession) => {
      if (place === 'complete') await this.#queue.complete(session, 'run', [entry.id]);
      if (place === 'retry') await this.#queue.retry(session, entry);
      const row = (await rows.readJobs(session, [id], true)).get(id);
      if (row === undefined || row.lease !== claim.lease || isFinal(row.job.state)) throw lost;
      const changed = await change(row.job, session);
      await this.#write(session, row, changed);
      return { changed, row };
    };
    try {
      const { changed, row } = await this.#database.transact(step);
      await this.#done(row, changed);
      return true;
    } catch (error) {
      if (error === lost || (FabricError.is(error) && error.cause === lost)) return false;
      throw error;
    }
  }

  /** A step of a client. It starts again when a worker moved the job while its place was looked up. */
  async open(
    id: string,
    change: (row: rows.JobRow, session: DatabaseSession) => Promise<Change | undefined>,
  ): Promise<StoredJob | undefined> {
    for (let left = MOST_TRIES; left > 0; left -= 1) {
      const before = await this.read(id);
      if (before === undefined) return undefined;
      const moved = new FabricError('OVERLOADED', 'The job changes too fast', {
        details: { reason: 'engine_busy', fix: 'Try again' },
      });
      const step = async (session: DatabaseSession) => {
        const changed = await change(before, session);
        const row = (await rows.readJobs(session, [id], true)).get(id);
        if (row === undefined || JSON.stringify(row) !== JSON.stringify(before)) throw moved;
        if (changed !== undefined) await this.#write(session, row, changed);
        return changed;
      };
      try {
        const changed = await this.#database.transact(step);
        if (changed === undefined) return this.toStored(before.job, before.result);
        await this.#done(before, changed);
        return changed.job;
      } catch (error) {
        if (error !== moved || left === 1) throw error;
      }
    }
    return undefined;
  }

  async #write(session: DatabaseSession, before: rows.JobRow, change: Change): Promise<void> {
    const { job, events = [], entry = before.entry, lease = before.lease, result } = change;
    const texts: string[] = [];
    for (const event of events) {
      texts.push(await this.#documents.store(job.id, JSON.stringify(event)));
    }
    await rows.updateJobs(session, [{ job, entry, lease, result }]);
    if (isFreed(job, before)) await rows.dropCall(session, job.id);
    await rows.insertEvents(session, job.id, before.job.cursor + 1, texts);
    await rows.notify(session, change.isReady ? [job.id, READY] : [job.id]);
  }

  /** Told to this process at once; others hear of it from Postgres. */
  async #done(before: rows.JobRow, { job, isReady }: Change): Promise<void> {
    if (isFreed(job, before)) await this.#documents.discard(before.call);
    this.#watchers.notify(job.id);
    if (isReady) this.#watchers.notify(READY);
  }
}

/** The call of a job that was cancelled is not kept, unless it is small. */
function isFreed({ state }: Job, { call }: rows.JobRow): boolean {
  return state === 'cancelled' && storedBytes(call) > SMALL_CALL_BYTES;
}

/** The claim of a place is named by the place and how often it was claimed. */
export function toLease({ id, retryCount }: Omit<Entry, 'data'>): string {
  return `${id}:${retryCount}`;
}

export function toEntry({ lease }: Claim): Omit<Entry, 'data'> {
  const [id = '', retryCount] = lease.split(':');
  return { id, retryCount: Number(retryCount) };
}

export function isId(id: unknown): id is string {
  return typeof id === 'string' && /^[0-9a-f-]{36}$/.test(id);
}
