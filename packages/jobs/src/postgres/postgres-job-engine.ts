// Jobs in Postgres, for any number of gateways. Each step is one transaction over our tables and the
// places that pg-boss keeps. Locks are taken in one order, first the place, then the job, so that a
// worker that finishes and one that claims never wait for each other.

import {
  type Asked,
  answered,
  appended,
  asked,
  assertCursor,
  type Claim,
  type ClaimOptions,
  type Clock,
  cancelDelivered,
  cancelRequested,
  claimed,
  createJob,
  FabricError,
  fingerprintOf,
  finished,
  IDEMPOTENCY_MS,
  isFinal,
  type Job,
  type JobAnswer,
  type JobDocuments,
  type JobEngine,
  type JobEvent,
  type JobFilter,
  type JobNote,
  type JobOutcome,
  type JobSchedule,
  jobNotFound,
  keyReused,
  modeOf,
  type NewJob,
  noted,
  requeued,
  resumed,
  type StoredJob,
  sent,
  toEventMark,
  type UpstreamHandle,
  type Watchers,
  withHandle,
} from '@starloom/core';
import type { BossQueue, Entry } from './boss-queue.ts';
import { Creations } from './creations.ts';
import type { Database, Session } from './database.ts';
import * as rows from './job-rows.ts';
import { Schedules } from './schedules.ts';
import { READY } from './schema.ts';

export interface PostgresJobEngineOptions {
  readonly database: Database;
  readonly queue: BossQueue;
  readonly documents: JobDocuments;
  readonly clock: Clock;
  readonly watchers: Watchers;
  readonly close: () => Promise<void>;
}

/** How often a step starts again because the job changed its place meanwhile. */
const MOST_TRIES = 20;

/** What a step does to a job; `entry` and `lease` stay unless they are given. */
interface Change {
  readonly job: Job;
  readonly events?: readonly JobEvent[];
  readonly entry?: string | null;
  readonly lease?: string | null;
  readonly result?: string;
  readonly isReady?: boolean;
}

export class PostgresJobEngine implements JobEngine {
  readonly kind = 'postgres';
  readonly #options: PostgresJobEngineOptions;
  readonly #database: Database;
  readonly #queue: BossQueue;
  readonly #documents: JobDocuments;
  readonly #watchers: Watchers;
  readonly #creations: Creations;
  readonly #schedules: Schedules;

  constructor(options: PostgresJobEngineOptions) {
    this.#options = options;
    this.#database = options.database;
    this.#queue = options.queue;
    this.#documents = options.documents;
    this.#watchers = options.watchers;
    this.#creations = new Creations(options.database, options.queue);
    this.#schedules = new Schedules(options.database, options.queue, this.#creations);
  }

  async create(newJob: NewJob) {
    const job = createJob(newJob, crypto.randomUUID(), this.#now());
    const call = await this.#documents.store(job.id, JSON.stringify(newJob.call ?? null));
    const key = newJob.idempotencyKey;
    if (key === undefined) {
      await this.#creations.add({ job, call });
      this.#watchers.notify(READY);
      return { job, created: true };
    }
    const fingerprint = fingerprintOf(newJob);
    const before = await this.#database.transact(async (session) => {
      const expiresAt = job.created_at + IDEMPOTENCY_MS;
      const asked = { principalId: newJob.principalId, key, jobId: job.id, fingerprint, expiresAt };
      if (await rows.takeKey(session, asked, job.created_at)) {
        await this.#creations.insert(session, [{ job, call }]);
        return undefined;
      }
      return rows.readKey(session, newJob.principalId, key);
    });
    if (before === undefined) {
      this.#watchers.notify(READY);
      return { job, created: true };
    }
    await this.#documents.remove(job.id);
    if (before.fingerprint !== fingerprint) throw keyReused(before.jobId);
    const known = await this.get(before.jobId);
    if (known === undefined) throw jobNotFound(before.jobId);
    return { job: known, created: false };
  }

  async get(id: string): Promise<StoredJob | undefined> {
    const row = await this.#read(id);
    return row && this.#toStored(row.job, row.result);
  }

  async callOf(id: string): Promise<unknown> {
    const row = await this.#read(id);
    return row && JSON.parse(await this.#documents.load(row.call));
  }

  list(filter: JobFilter) {
    return rows.listJobs(this.#database, filter);
  }

  async events(id: string, { after, limit }: { after: number; limit: number }) {
    const from = Number.isSafeInteger(after) ? after : -1;
    const found = isId(id) ? await rows.readEvents(this.#database, id, from, limit) : undefined;
    if (found === undefined) throw jobNotFound(id);
    assertCursor(found.job, after);
    const events: JobEvent[] = [];
    for (const text of found.texts) events.push(JSON.parse(await this.#documents.load(text)));
    return { events, cursor: after + events.length };
  }

  watch(id: string, listener: () => void): () => void {
    return this.#watchers.add(id, listener);
  }

  append(claim: Claim, events: readonly JobEvent[]): Promise<boolean> {
    const now = this.#now();
    return this.#held(claim, async (job) => ({
      job: appended(job, events.map(toEventMark), now),
      events,
    }));
  }

  markSent(claim: Claim): Promise<boolean> {
    return this.#held(claim, async (job) => ({ job: sent(job, this.#now()) }));
  }

  keepHandle(claim: Claim, handle: UpstreamHandle): Promise<boolean> {
    return this.#held(claim, async (job) => ({ job: withHandle(job, handle, this.#now()) }));
  }

  markCancelDelivered(claim: Claim): Promise<boolean> {
    return this.#held(claim, async (job) => ({ job: cancelDelivered(job, this.#now()) }));
  }

  ask(claim: Claim, question: Asked, events: readonly JobEvent[]): Promise<boolean> {
    const now = this.#now();
    const isOver = question.handle !== undefined;
    return this.#held(
      claim,
      async (before, session) => {
        const job = asked(appended(before, events.map(toEventMark), now), question, now);
        if (!isOver) return { job, events };
        const place = { job, readyAt: question.expiresAt };
        const [entry = null] = await this.#queue.add(session, 'run', [place]);
        return { job, events, entry, lease: null };
      },
      isOver ? 'complete' : undefined,
    );
  }

  resume(claim: Claim): Promise<boolean> {
    return this.#held(claim, async (job) => ({ job: resumed(job, this.#now()) }));
  }

  async finish(claim: Claim, outcome: JobOutcome, events: readonly JobEvent[]): Promise<boolean> {
    const now = this.#now();
    const { id } = claim.job;
    const { state } = outcome;
    const end = state === 'succeeded' ? { state } : { state, error: outcome.error };
    const result =
      outcome.state === 'succeeded'
        ? await this.#documents.store(id, JSON.stringify(outcome.result ?? null))
        : undefined;
    return this.#held(
      claim,
      async (before, session) => {
        const job = finished(before, end, events.map(toEventMark), now);
        const entry = await this.#addWebhook(session, job);
        return { job, events, entry, lease: null, isReady: true, ...(result && { result }) };
      },
      'complete',
    );
  }

  answer(id: string, answers: readonly JobAnswer[]): Promise<StoredJob | undefined> {
    return this.#open(id, async ({ job: before, entry, lease }, session) => {
      const job = answered(before, answers, this.#now());
      if (job.state !== 'queued') return { job, entry, lease };
      await this.#queue.complete(session, 'run', [entry ?? ''].filter(Boolean));
      const [added = null] = await this.#queue.add(session, 'run', [{ job }]);
      return { job, entry: added, lease: null, isReady: true };
    });
  }

  requestCancel(id: string): Promise<StoredJob | undefined> {
    return this.#open(id, async ({ job: before, entry, lease }, session) => {
      const { job, event } = cancelRequested(before, this.#now());
      if (job === before) return undefined;
      if (event !== undefined) {
        await this.#queue.complete(session, 'run', [entry ?? ''].filter(Boolean));
        const hook = await this.#addWebhook(session, job);
        return { job, events: [event], entry: hook, lease: null };
      }
      if (job.parked || job.state === 'running') return { job, entry, lease };
      await this.#queue.complete(session, 'run', [entry ?? ''].filter(Boolean));
      const [added = null] = await this.#queue.add(session, 'run', [{ job }]);
      return { job, entry: added, lease: null, isReady: true };
    });
  }

  async note(id: string, note: JobNote): Promise<boolean> {
    if (!isId(id)) return false;
    const done = await this.#database.transact(async (session) => {
      const row = (await rows.readJobs(session, [id], true)).get(id);
      const job = row && noted(row.job, note);
      if (job === undefined) return false;
      await rows.updateJobs(session, [
        { job, entry: row?.entry ?? null, lease: row?.lease ?? null },
      ]);
      await rows.notify(session, [id]);
      return true;
    });
    if (done) this.#watchers.notify(id);
    return done;
  }

  listDue(limit: number) {
    return rows.listDue(this.#database, limit);
  }

  async prune({ before, limit }: { before: number; limit: number }): Promise<number> {
    const now = this.#now();
    const ids = await this.#database.transact((session) =>
      rows.deleteJobs(session, before, limit, now),
    );
    for (const id of ids) await this.#documents.remove(id);
    return ids.length;
  }

  async counts() {
    const states = await rows.countJobs(this.#database);
    const oldest = await rows.oldestQueued(this.#database, this.#now());
    return oldest === undefined ? { states } : { states, oldest_queued_at: oldest };
  }

  async claim(options: ClaimOptions): Promise<readonly Claim[]> {
    const { purpose = 'run' } = options;
    const { claims, isMore } = await this.#database.transact((session) =>
      this.#claim(session, options),
    );
    const loaded: Claim[] = [];
    for (const { call, ...claim } of claims) {
      loaded.push({ ...claim, purpose, call: JSON.parse(await this.#documents.load(call)) });
      this.#watchers.notify(claim.job.id);
    }
    return loaded.length === 0 && isMore ? this.claim(options) : loaded;
  }

  async renew(claims: readonly Claim[], _leaseMs: number) {
    const touched = new Map<Claim, boolean>();
    for (const purpose of ['run', 'webhook'] as const) {
      const some = claims.filter((claim) => claim.purpose === purpose);
      const held = await this.#queue.touch(purpose, some.map(toEntry));
      for (const [index, claim] of some.entries()) touched.set(claim, held[index] ?? false);
    }
    const ids = claims.map(({ job }) => job.id);
    const found = await rows.readJobs(this.#database, ids, false);
    return claims.map((claim) => {
      const row = found.get(claim.job.id);
      const held = touched.get(claim) === true && row?.lease === claim.lease;
      return { held, cancelRequested: held && row?.job.cancel !== undefined };
    });
  }

  retry(claim: Claim, events: readonly JobEvent[]): Promise<boolean> {
    const now = this.#now();
    return this.#held(
      claim,
      async (before) => {
        const job = requeued(appended(before, events.map(toEventMark), now), now);
        return { job, events, lease: null };
      },
      'retry',
    );
  }

  release(claim: Claim): Promise<boolean> {
    const now = this.#now();
    return this.#held(
      claim,
      async (before, session) => {
        const isNew = !before.sent && before.state === 'running';
        const job = isNew ? { ...requeued(before, now), attempt: before.attempt - 1 } : before;
        const [entry = null] = await this.#queue.add(session, 'run', [{ job }]);
        return { job, entry, lease: null, isReady: true };
      },
      'complete',
    );
  }

  async settle(claim: Claim): Promise<void> {
    await this.#endWebhook(claim, undefined);
  }

  async postpone(claim: Claim, delayMs: number): Promise<void> {
    await this.#endWebhook(claim, this.#now() + delayMs);
  }

  onReady(listener: () => void): () => void {
    return this.#watchers.add(READY, listener);
  }

  schedule(schedule: JobSchedule): Promise<void> {
    return this.#schedules.put(schedule, this.#now());
  }

  unschedule(name: string): Promise<void> {
    return this.#schedules.remove(name);
  }

  schedules() {
    return this.#schedules.list();
  }

  async check(): Promise<void> {
    await this.#database.transact((session) => rows.notify(session, [READY]));
  }

  async close(): Promise<void> {
    await this.#creations.idle();
    await this.#options.close();
  }

  #now(): number {
    return this.#options.clock.now();
  }

  async #read(id: string) {
    if (!isId(id)) return undefined;
    return (await rows.readJobs(this.#database, [id], false)).get(id);
  }

  async #claim(session: Session, { purpose = 'run', limit, perAgent }: ClaimOptions) {
    const now = this.#now();
    const entries = await this.#queue.fetch(session, purpose, { limit, perAgent });
    if (entries.length === 0) return { claims: [], isMore: false };
    const found = await rows.readJobs(
      session,
      entries.flatMap(({ data }) => data.job ?? []),
      true,
    );
    const stale: string[] = [];
    const changes: rows.JobChange[] = [];
    const claims = entries.flatMap((entry) => {
      const row = found.get(entry.data.job ?? '');
      const mode = purpose === 'run' ? row && modeOf(row.job, now) : ('start' as const);
      if (row === undefined || mode === undefined || row.entry !== entry.id) {
        stale.push(entry.id);
        return [];
      }
      const job = purpose === 'run' ? claimed(row.job, mode, now) : row.job;
      const lease = toLease(entry);
      changes.push({ job, entry: entry.id, lease });
      const tries = (entry.data.tries ?? 0) + entry.retryCount + 1;
      return [{ job, call: row.call, mode, lease, tries }];
    });
    const due = entries.flatMap(({ data }) => data.schedule ?? []);
    for (const name of due) await this.#schedules.fire(session, name, now);
    await this.#queue.complete(session, purpose, stale);
    await rows.updateJobs(session, changes);
    if (purpose === 'run')
      await rows.notify(
        session,
        changes.map(({ job }) => job.id),
      );
    return { claims, isMore: true };
  }

  /**
   * A step of the worker that holds the claim; false when it does not. `place` says what becomes of the
   * place in the queue, before the job is locked.
   */
  async #held(
    claim: Claim,
    change: (job: Job, session: Session) => Promise<Change>,
    place?: 'complete' | 'retry',
  ): Promise<boolean> {
    const { id } = claim.job;
    const entry = toEntry(claim);
    const lost = new Error('the claim is lost');
    const step = async (session: Session): Promise<Change> => {
      if (place === 'complete') await this.#queue.complete(session, 'run', [entry.id]);
      if (place === 'retry') await this.#queue.retry(session, entry);
      const row = (await rows.readJobs(session, [id], true)).get(id);
      if (row === undefined || row.lease !== claim.lease || isFinal(row.job.state)) throw lost;
      const changed = await change(row.job, session);
      await this.#write(session, row, changed);
      return changed;
    };
    try {
      this.#hint(await this.#database.transact(step));
      return true;
    } catch (error) {
      if (error === lost || (FabricError.is(error) && error.cause === lost)) return false;
      throw error;
    }
  }

  /** A step of a client. It starts again when a worker moved the job while its place was looked up. */
  async #open(
    id: string,
    change: (row: rows.JobRow, session: Session) => Promise<Change | undefined>,
  ): Promise<StoredJob | undefined> {
    for (let left = MOST_TRIES; left > 0; left -= 1) {
      const before = await this.#read(id);
      if (before === undefined) return undefined;
      const moved = new FabricError('OVERLOADED', 'The job changes too fast', {
        details: { reason: 'engine_busy', fix: 'Try again' },
      });
      const step = async (session: Session) => {
        const changed = await change(before, session);
        const row = (await rows.readJobs(session, [id], true)).get(id);
        if (row === undefined || JSON.stringify(row) !== JSON.stringify(before)) throw moved;
        if (changed !== undefined) await this.#write(session, row, changed);
        return changed;
      };
      try {
        const changed = await this.#database.transact(step);
        if (changed === undefined) return this.#toStored(before.job, before.result);
        this.#hint(changed);
        return changed.job;
      } catch (error) {
        if (error !== moved || left === 1) throw error;
      }
    }
    return undefined;
  }

  async #write(session: Session, before: rows.JobRow, change: Change): Promise<void> {
    const { job, events = [], entry = before.entry, lease = before.lease, result } = change;
    const texts: string[] = [];
    for (const event of events) {
      texts.push(await this.#documents.store(job.id, JSON.stringify(event)));
    }
    await rows.updateJobs(session, [{ job, entry, lease, result }]);
    await rows.insertEvents(session, job.id, before.job.cursor + 1, texts);
    await rows.notify(session, change.isReady ? [job.id, READY] : [job.id]);
  }

  /** To this process at once; others hear of it from Postgres. */
  #hint({ job, isReady }: Change): void {
    this.#watchers.notify(job.id);
    if (isReady) this.#watchers.notify(READY);
  }

  async #addWebhook(session: Session, job: Job): Promise<string | null> {
    if (job.webhook === undefined) return null;
    const [entry = null] = await this.#queue.add(session, 'webhook', [{ job }]);
    return entry;
  }

  async #endWebhook(claim: Claim, readyAt: number | undefined): Promise<void> {
    const { id } = claim.job;
    await this.#database.transact(async (session) => {
      await this.#queue.complete(session, 'webhook', [toEntry(claim).id]);
      const row = (await rows.readJobs(session, [id], true)).get(id);
      if (row === undefined || row.lease !== claim.lease) return;
      const { job } = row;
      const { tries } = claim;
      const [entry = null] =
        readyAt === undefined
          ? []
          : await this.#queue.add(session, 'webhook', [{ job, readyAt, tries }]);
      await rows.updateJobs(session, [{ job, entry, lease: null }]);
    });
  }

  async #toStored(job: Job, result: string | null): Promise<StoredJob> {
    if (result === null) return job;
    return { ...job, result: JSON.parse(await this.#documents.load(result)) };
  }
}

/** The claim of a place is named by the place and how often it was claimed. */
function toLease({ id, retryCount }: Omit<Entry, 'data'>): string {
  return `${id}:${retryCount}`;
}

function toEntry({ lease }: Claim): Omit<Entry, 'data'> {
  const [id = '', retryCount] = lease.split(':');
  return { id, retryCount: Number(retryCount) };
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && /^[0-9a-f-]{36}$/.test(id);
}
