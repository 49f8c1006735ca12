// What happens to jobs and their queue, for every engine: over tables in memory, in SQLite, or over the rows
// that were read from Postgres for a step. Each method is one step that happens as a whole; it checks before it
// writes. Texts pass through unread.

import {
  type Asked,
  type ClaimMode,
  type ClaimOptions,
  createTrace,
  isFinal,
  type Job,
  type JobAnswer,
  type JobNote,
  type JobQuota,
  type NewJob,
  type QueuePurpose,
  type Renewal,
  type UpstreamHandle,
} from '@starloom/core';
import { nextCron } from '../next-cron.ts';
import { failure } from '../reasons.ts';
import {
  answerQuestions,
  appendEvents,
  askQuestions,
  cancelJob,
  claimJob,
  createJob,
  type EventMark,
  finishJob,
  IDEMPOTENCY_MS,
  type JobEnd,
  markCancelDelivered,
  markJobSent,
  modeOf,
  requeueJob,
  resumeJob,
  retryDelayMs,
  setNote,
  withHandle,
} from '../transitions.ts';
import type { QueueEntry, ScheduleRow, StepTables } from './job-tables.ts';
import { NO_CALL, SMALL_CALL_BYTES, storedBytes } from './job-tables.ts';

/** An event as it is stored, and what the record takes over from it. */
export interface EventText extends EventMark {
  readonly text: string;
}

export interface LedgerClaim {
  readonly job: Job;
  readonly call: string;
  readonly mode: ClaimMode;
  readonly lease: string;
  readonly tries: number;
}

export interface Held {
  readonly id: string;
  readonly lease: string;
  readonly purpose: QueuePurpose;
}

export interface LedgerNewJob {
  readonly id: string;
  readonly input: Omit<NewJob, 'call'>;
  readonly call: string;
  readonly fingerprint: string;
}

export interface JobStepsOptions {
  /** What the jobs of one principal may take at most, whatever their quota says. */
  readonly mostBytes?: number;
}

export class JobSteps {
  readonly #tables: StepTables;
  readonly #mostBytes: number;

  constructor(tables: StepTables, options: JobStepsOptions = {}) {
    this.#tables = tables;
    this.#mostBytes = options.mostBytes ?? Number.POSITIVE_INFINITY;
  }

  create({ id, input, call, fingerprint }: LedgerNewJob, now: number) {
    const { principalId, idempotencyKey: key, quota } = input;
    const known = key === undefined ? undefined : this.#tables.key(principalId, key);
    if (known !== undefined && known.expiresAt > now) {
      if (known.fingerprint !== fingerprint) {
        throw failure('idempotency_key_reused', { job_id: known.jobId });
      }
      const job = this.#tables.get(known.jobId);
      if (job !== undefined) return { job, result: this.#tables.result(job.id), created: false };
    }
    if (quota) {
      const bytes = Math.min(quota.bytes, this.#mostBytes);
      assertQuota(this.#tables.usage(principalId), storedBytes(call), { ...quota, bytes });
    }
    const job = createJob({ ...input, call: null }, id, now);
    this.#tables.insert(job, call);
    if (key !== undefined) {
      const row = { jobId: id, fingerprint, expiresAt: now + IDEMPOTENCY_MS };
      this.#tables.setKey(principalId, key, row);
    }
    this.#enqueue(job, job.run_at ?? now, now);
    return { job, result: undefined, created: true };
  }

  append(held: Held, events: readonly EventText[], now: number): boolean {
    return this.#change(held, (job) => appendEvents(job, events, now), events);
  }

  markSent(held: Held, now: number): boolean {
    return this.#change(held, (job) => markJobSent(job, now));
  }

  keepHandle(held: Held, handle: UpstreamHandle, now: number): boolean {
    return this.#change(held, (job) => withHandle(job, handle, now));
  }

  markCancelDelivered(held: Held, now: number): boolean {
    return this.#change(held, (job) => markCancelDelivered(job, now));
  }

  ask(held: Held, question: Asked, events: readonly EventText[], now: number): boolean {
    const change = (job: Job) => askQuestions(appendEvents(job, events, now), question, now);
    const done = this.#change(held, change, events);
    const job = this.#tables.get(held.id);
    if (done && job !== undefined && question.handle !== undefined) {
      this.#enqueue(job, question.expiresAt, now);
    }
    return done;
  }

  resume(held: Held, now: number): boolean {
    return this.#change(held, (job) => resumeJob(job, now));
  }

  finish(
    held: Held,
    end: JobEnd,
    events: readonly EventText[],
    result: string | undefined,
    now: number,
  ): boolean {
    const done = this.#change(held, (job) => finishJob(job, end, events, now), events);
    if (!done) return false;
    if (result !== undefined) this.#tables.setResult(held.id, result);
    if (end.state === 'cancelled') this.#freeCall(held.id);
    this.#tables.deleteEntry(held.id, held.purpose);
    this.#notifyOfEnd(held.id, now);
    return true;
  }

  answer(id: string, answers: readonly JobAnswer[], now: number) {
    const job = this.#tables.get(id);
    if (job === undefined) return undefined;
    const next = answerQuestions(job, answers, now);
    this.#tables.update(next);
    if (next.state === 'queued') this.#enqueue(next, now, now);
    return { job: next, result: undefined };
  }

  requestCancel(id: string, now: number) {
    const before = this.#tables.get(id);
    if (before === undefined) return undefined;
    const { job, event } = cancelJob(before, now);
    if (job === before) return { job, result: this.#tables.result(id) };
    this.#tables.update(job);
    if (event !== undefined) {
      this.#tables.addEvents(id, job.cursor, [JSON.stringify(event)]);
      this.#tables.deleteEntry(id, 'run');
      this.#notifyOfEnd(id, now);
      this.#freeCall(id);
    } else if (!job.parked && job.state !== 'running') {
      this.#enqueue(job, now, now);
    }
    return { job, result: undefined };
  }

  note(id: string, note: JobNote): boolean {
    const job = this.#tables.get(id);
    const next = job && setNote(job, note);
    if (next === undefined) return false;
    this.#tables.update(next);
    return true;
  }

  claim({ purpose = 'run', leaseMs, limit, perAgent }: ClaimOptions, now: number) {
    if (purpose === 'run') for (const row of this.#tables.dueSchedules(now)) this.#fire(row, now);
    this.#tables.wake(now);
    const claims: LedgerClaim[] = [];
    for (const entry of this.#tables.ready(purpose, limit, perAgent)) {
      const claim = this.#claim(entry, now + leaseMs, now);
      if (claim !== undefined) claims.push(claim);
    }
    return claims;
  }

  renew(claims: readonly Held[], leaseMs: number, now: number): readonly Renewal[] {
    return claims.map((held) => {
      const entry = this.#tables.entry(held.id, held.purpose);
      if (entry?.lease !== held.lease) return { held: false, cancelRequested: false };
      this.#tables.putEntry({ ...entry, state: 'leased', readyAt: now + leaseMs });
      const cancelRequested = this.#tables.get(held.id)?.cancel !== undefined;
      return { held: true, cancelRequested };
    });
  }

  retry(held: Held, events: readonly EventText[], now: number): boolean {
    const change = (job: Job) => requeueJob(appendEvents(job, events, now), now);
    if (!this.#change(held, change, events)) return false;
    const job = this.#tables.get(held.id);
    if (job !== undefined) this.#enqueue(job, now + retryDelayMs(job, Math.random()), now);
    return true;
  }

  release(held: Held, now: number): boolean {
    const job = this.#findHeld(held);
    if (job === undefined) return false;
    if (!job.sent && job.state === 'running') {
      this.#tables.update({ ...requeueJob(job, now), attempt: job.attempt - 1 });
    }
    this.#enqueue(job, now, now);
    return true;
  }

  settle({ id, lease, purpose }: Held): void {
    if (this.#tables.entry(id, purpose)?.lease === lease) this.#tables.deleteEntry(id, purpose);
  }

  postpone({ id, lease, purpose }: Held, readyAt: number): void {
    const entry = this.#tables.entry(id, purpose);
    if (entry?.lease !== lease) return;
    this.#tables.putEntry({ ...entry, state: 'deferred', readyAt });
  }

  schedule(row: Omit<ScheduleRow, 'nextAt'>, now: number): void {
    const before = this.#tables.schedules().find(({ name }) => name === row.name);
    const isSame = before?.cron === row.cron && before.timezone === row.timezone;
    const nextAt = nextCron(row.cron, row.timezone, now);
    // A time that passed while no process was up is still due.
    this.#tables.putSchedule({ ...row, nextAt: isSame ? before.nextAt : nextAt });
  }

  unschedule(name: string): void {
    this.#tables.deleteSchedule(name);
  }

  #claim(entry: QueueEntry, readyAt: number, now: number): LedgerClaim | undefined {
    const { jobId, purpose } = entry;
    const before = this.#tables.get(jobId);
    const mode = purpose === 'run' ? before && modeOf(before, now) : 'start';
    if (before === undefined || mode === undefined) {
      this.#tables.deleteEntry(jobId, purpose);
      return undefined;
    }
    const lease = crypto.randomUUID();
    const tries = entry.tries + 1;
    this.#tables.putEntry({ ...entry, state: 'leased', lease, readyAt, tries });
    const job = purpose === 'run' ? claimJob(before, mode, now) : before;
    if (job !== before) this.#tables.update(job);
    const call = this.#tables.call(jobId) ?? 'null';
    return { job, call, mode, lease, tries };
  }

  /** At most one job for all the times that passed while no process was up. */
  #fire(row: ScheduleRow, now: number): void {
    // Jobs of a schedule are not counted, and a key would make all of them one.
    const { call, quota: _, idempotencyKey: __, ...given } = JSON.parse(row.job) as NewJob;
    const input = { ...given, trace: createTrace() };
    const id = crypto.randomUUID();
    this.create({ id, input, call: JSON.stringify(call), fingerprint: '' }, now);
    const nextAt = nextCron(row.cron, row.timezone, now);
    this.#tables.putSchedule({ ...row, nextAt });
  }

  #change(held: Held, change: (job: Job) => Job, events: readonly EventText[] = []): boolean {
    const job = this.#findHeld(held);
    if (job === undefined) return false;
    this.#tables.update(change(job));
    if (events.length > 0) {
      const texts = events.map(({ text }) => text);
      this.#tables.addEvents(held.id, job.cursor + 1, texts);
    }
    return true;
  }

  #findHeld({ id, lease, purpose }: Held): Job | undefined {
    if (this.#tables.entry(id, purpose)?.lease !== lease) return undefined;
    const job = this.#tables.get(id);
    return job === undefined || isFinal(job.state) ? undefined : job;
  }

  #enqueue(job: Job, readyAt: number, now: number, purpose: QueuePurpose = 'run'): void {
    this.#tables.putEntry({
      jobId: job.id,
      purpose,
      priority: job.priority,
      ...(job.agent_id !== undefined && { agentId: job.agent_id }),
      state: readyAt > now ? 'deferred' : 'ready',
      readyAt,
      tries: this.#tables.entry(job.id, purpose)?.tries ?? 0,
    });
  }

  /** Of a job that was cancelled. */
  #freeCall(id: string): void {
    const call = this.#tables.call(id) ?? NO_CALL;
    if (storedBytes(call) > SMALL_CALL_BYTES) this.#tables.setCall(id, NO_CALL);
  }

  #notifyOfEnd(id: string, now: number): void {
    const job = this.#tables.get(id);
    if (job?.webhook !== undefined) this.#enqueue(job, now, now, 'webhook');
  }
}

function assertQuota(used: JobQuota, asked: number, { jobs, bytes }: JobQuota): void {
  if (used.jobs >= jobs) throw failure('jobs_quota', { limit: jobs });
  if (used.bytes + asked <= bytes) return;
  throw failure('job_bytes_quota', { limit: bytes, used: used.bytes, asked });
}
