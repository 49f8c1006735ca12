// Jobs in Postgres, for any number of gateways. Each step is one transaction over our tables and the
// places that pg-boss keeps (`job-steps.ts`).

import {
  type Asked,
  type Claim,
  type ClaimOptions,
  type Clock,
  type Job,
  type JobAnswer,
  type JobEngine,
  type JobEvent,
  type JobFilter,
  type JobNote,
  type JobOutcome,
  type JobQuota,
  type JobSchedule,
  type NewJob,
  RecentMap,
  type StoredJob,
  type UpstreamHandle,
} from '@starloom/core';
import { assertQuota, jobNotFound } from '../job-errors.ts';
import { assertCursor, keyReused } from '../ledger/job-ledger.ts';
import { fingerprintOf, type JobDocuments } from '../ledger/ledger-engine.ts';
import { storedBytes } from '../ledger/stored-text.ts';
import type { Watchers } from '../ledger/watchers.ts';
import {
  answered,
  appended,
  asked,
  cancelDelivered,
  cancelRequested,
  claimed,
  createJob,
  finished,
  IDEMPOTENCY_MS,
  modeOf,
  noted,
  requeued,
  resumed,
  sent,
  toEventMark,
  withHandle,
} from '../transitions.ts';
import type { BossQueue } from './boss-queue.ts';
import { Creations } from './creations.ts';
import type { Database, DatabaseSession } from './database.ts';
import * as rows from './job-rows.ts';
import { isId, JobSteps, toEntry, toLease } from './job-steps.ts';
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

export class PostgresJobEngine implements JobEngine {
  readonly kind = 'postgres';
  readonly #options: PostgresJobEngineOptions;
  readonly #database: Database;
  readonly #queue: BossQueue;
  readonly #documents: JobDocuments;
  readonly #watchers: Watchers;
  readonly #creations: Creations;
  readonly #schedules: Schedules;
  readonly #steps: JobSteps;
  readonly #usage = new Usage();

  constructor(options: PostgresJobEngineOptions) {
    this.#options = options;
    this.#database = options.database;
    this.#queue = options.queue;
    this.#documents = options.documents;
    this.#watchers = options.watchers;
    this.#creations = new Creations(options.database, options.queue);
    this.#steps = new JobSteps(options);
    this.#schedules = new Schedules(options.database, options.queue, this.#creations);
  }

  async create(newJob: NewJob) {
    const job = createJob(newJob, crypto.randomUUID(), this.#now());
    const call = await this.#documents.store(job.id, JSON.stringify(newJob.call ?? null));
    try {
      return await this.#create(newJob, job, call);
    } catch (error) {
      await this.#documents.discard(call);
      throw error;
    }
  }

  async #create(newJob: NewJob, job: Job, call: string) {
    const key = newJob.idempotencyKey;
    if (key === undefined) {
      await this.#usage.take(this.#database, newJob, call);
      await this.#creations.add({ job, call });
      this.#watchers.notify(READY);
      return { job, created: true };
    }
    const fingerprint = fingerprintOf(newJob);
    const before = await this.#database.transact(async (session) => {
      const expiresAt = job.created_at + IDEMPOTENCY_MS;
      const asked = { principalId: newJob.principalId, key, jobId: job.id, fingerprint, expiresAt };
      if (await rows.takeKey(session, asked, job.created_at)) {
        await this.#usage.take(session, newJob, call);
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
    const row = await this.#steps.read(id);
    return row && this.#steps.toStored(row.job, row.result);
  }

  async callOf(id: string): Promise<unknown> {
    const row = await this.#steps.read(id);
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
    return this.#steps.held(claim, async (job) => ({
      job: appended(job, events.map(toEventMark), now),
      events,
    }));
  }

  markSent(claim: Claim): Promise<boolean> {
    return this.#steps.held(claim, async (job) => ({ job: sent(job, this.#now()) }));
  }

  keepHandle(claim: Claim, handle: UpstreamHandle): Promise<boolean> {
    return this.#steps.held(claim, async (job) => ({ job: withHandle(job, handle, this.#now()) }));
  }

  markCancelDelivered(claim: Claim): Promise<boolean> {
    return this.#steps.held(claim, async (job) => ({ job: cancelDelivered(job, this.#now()) }));
  }

  ask(claim: Claim, question: Asked, events: readonly JobEvent[]): Promise<boolean> {
    const now = this.#now();
    const isOver = question.handle !== undefined;
    return this.#steps.held(
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
    return this.#steps.held(claim, async (job) => ({ job: resumed(job, this.#now()) }));
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
    return this.#steps.held(
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
    return this.#steps.open(id, async ({ job: before, entry, lease }, session) => {
      const job = answered(before, answers, this.#now());
      if (job.state !== 'queued') return { job, entry, lease };
      await this.#queue.complete(session, 'run', [entry ?? ''].filter(Boolean));
      const [added = null] = await this.#queue.add(session, 'run', [{ job }]);
      return { job, entry: added, lease: null, isReady: true };
    });
  }

  requestCancel(id: string): Promise<StoredJob | undefined> {
    return this.#steps.open(id, async ({ job: before, entry, lease }, session) => {
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
    return this.#steps.held(
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
    return this.#steps.held(
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

  async #claim(session: DatabaseSession, { purpose = 'run', limit, perAgent }: ClaimOptions) {
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

  async #addWebhook(session: DatabaseSession, job: Job): Promise<string | null> {
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
}

/** What principals have in the database, read at most once in a second and before a refusal. */
class Usage {
  readonly #known = new RecentMap<{ readonly readAt: number; used: JobQuota }>(PRINCIPALS);

  /** RATE_LIMITED when the job is too much. */
  async take(
    session: DatabaseSession,
    { principalId, quota }: NewJob,
    call: string,
  ): Promise<void> {
    if (quota === undefined) return;
    const bytes = storedBytes(call);
    let known = this.#known.get(principalId);
    const isOver =
      known && (known.used.jobs >= quota.jobs || known.used.bytes + bytes > quota.bytes);
    if (!known || isOver || performance.now() - known.readAt > USAGE_MS) {
      known = { readAt: performance.now(), used: await rows.readUsage(session, principalId) };
      this.#known.set(principalId, known);
    }
    assertQuota(known.used, bytes, quota);
    known.used = { jobs: known.used.jobs + 1, bytes: known.used.bytes + bytes };
  }
}

const PRINCIPALS = 10_000;
const USAGE_MS = 1_000;
