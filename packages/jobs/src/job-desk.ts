// What clients may do with their own jobs. A job of another principal looks like one that is not there.

import {
  isFinal,
  type JobAnswer,
  type JobFilter,
  type JobQuota,
  type JobRecords,
  type NewJob,
  type StoredJob,
} from '@starloom/core';
import { type FollowedEvent, followJob } from './follow-job.ts';
import { jobNotFound } from './job-document.ts';
import { failure } from './reasons.ts';

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MAX_PER_PAGE = 1_000;

export class JobDesk {
  readonly #records: JobRecords;
  readonly #quota: JobQuota | undefined;

  constructor(records: JobRecords, quota?: JobQuota) {
    this.#records = records;
    this.#quota = quota;
  }

  /** The job is durable when this resolves. */
  submit(job: NewJob): Promise<{ readonly job: StoredJob; readonly created: boolean }> {
    return this.#records.create({ ...job, ...(this.#quota && { quota: this.#quota }) });
  }

  async status(principalId: string, id: unknown): Promise<StoredJob> {
    const job = isId(id) ? await this.#records.get(id) : undefined;
    if (job?.principal_id !== principalId) throw jobNotFound(id);
    return job;
  }

  /** Resolves when the job is over. */
  async result(principalId: string, id: string, signal: AbortSignal): Promise<StoredJob> {
    const { cursor } = await this.status(principalId, id);
    for await (const _ of followJob(this.#records, id, { after: cursor, signal }));
    return this.status(principalId, id);
  }

  async *stream(
    principalId: string,
    id: unknown,
    options: { readonly after: number; readonly signal: AbortSignal },
  ): AsyncGenerator<FollowedEvent, void> {
    const job = await this.status(principalId, id);
    yield* followJob(this.#records, job.id, options);
  }

  async events(principalId: string, id: unknown, options: { after: number; limit: number }) {
    const job = await this.status(principalId, id);
    return this.#records.events(job.id, options);
  }

  list(filter: JobFilter) {
    const limit = Math.min(Math.max(1, filter.limit), MAX_PER_PAGE);
    return this.#records.list({ ...filter, limit });
  }

  /** A job that is cancelled already stays so; one that ended otherwise is BAD_INPUT. */
  async cancel(principalId: string, id: unknown): Promise<StoredJob> {
    const job = await this.status(principalId, id);
    const after = isFinal(job.state) ? job : await this.#records.requestCancel(job.id);
    if (after === undefined) throw jobNotFound(id);
    if (after.state !== 'succeeded' && after.state !== 'failed') return after;
    throw failure('job_finished', { job_id: after.id, state: after.state });
  }

  /** A new job with the call of one that is over. */
  async retry(principalId: string, id: unknown, now: number): Promise<StoredJob> {
    const job = await this.status(principalId, id);
    const about = { job_id: job.id, state: job.state };
    if (!isFinal(job.state)) throw failure('job_not_finished', about);
    const call = await this.#records.callOf(job.id);
    if (call === null) throw failure('call_removed', about);
    const hadMs = job.deadline_at === undefined ? undefined : job.deadline_at - job.created_at;
    const made = await this.submit({
      principalId,
      capability: job.capability,
      ...(job.agent_id !== undefined && { agentId: job.agent_id }),
      trace: job.trace,
      call,
      idempotent: job.idempotent,
      timeoutMs: job.timeout_ms,
      ...(hadMs !== undefined && { deadlineAt: now + hadMs }),
      priority: job.priority,
      retry: job.retry,
      ...(job.webhook !== undefined && { webhook: job.webhook }),
      retryOf: job.id,
    });
    return made.job;
  }

  async input(principalId: string, id: unknown, answers: readonly JobAnswer[]): Promise<StoredJob> {
    const job = await this.status(principalId, id);
    const after = await this.#records.answer(job.id, answers);
    if (after === undefined) throw jobNotFound(id);
    return after;
  }
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && ID.test(id);
}
