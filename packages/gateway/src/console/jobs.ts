// Jobs as the page shows them. One's own go through the tools of jobs; `admin:jobs` also shows those of
// others and cancels them, without what they answered.

import type { JobPage, JobView, Question } from '@starloom/console/api-types';
import {
  givenInputSchema,
  isFinal,
  JOB_STATES,
  type Job,
  type JobFilter,
  openInputs,
  type StoredJob,
} from '@starloom/core';
import type { Principal } from '@starloom/identity';
import { toJobDocument } from '@starloom/jobs';
import { z } from 'zod';
import type { JobCalls } from '../jobs/job-calls.ts';
import { failure } from '../reasons.ts';
import {
  type ConsoleRequest,
  compact,
  type Handlers,
  ownerOf,
  parse,
  parseQuery,
  scopeOf,
  toTime,
  useTool,
  withPart,
} from './request.ts';

const EVENTS = 1_000;

const listSchema = z.strictObject({
  state: z.enum(JOB_STATES).optional(),
  cursor: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(500).default(100),
});

const inputSchema = z.strictObject({ inputs: z.array(givenInputSchema).min(1).max(32) });

export const jobHandlers: Handlers = {
  'GET jobs': withPart('jobs', listJobs),
  'GET jobs/:id': withPart('jobs', async (request, jobs) => ({
    job: await findView(request, jobs),
  })),
  'GET jobs/:id/events': withPart('jobs', readEvents),
  'POST jobs/:id/cancel': withPart('jobs', async (request, jobs) => {
    const job = await find(request, jobs);
    await jobs.desk.cancel(job.principal_id, job.id);
    return { job: await findView(request, jobs) };
  }),
  'POST jobs/:id/retry': withPart('jobs', async (request, jobs) => {
    const { job } = await useTool(request, 'fabric.job.retry', { job_id: request.params.id });
    const { job_id } = job as { job_id: string };
    return { job: await findView({ ...request, params: { id: job_id } }, jobs) };
  }),
  'POST jobs/:id/input': withPart('jobs', async (request, jobs) => {
    const { inputs } = parse(inputSchema, request.body, 'the answers');
    await useTool(request, 'fabric.job.input', { job_id: request.params.id, inputs });
    return { job: await findView(request, jobs) };
  }),
};

async function listJobs(request: ConsoleRequest, jobs: JobCalls): Promise<object> {
  const { principal } = request;
  const page = await visibleJobs(jobs, principal, parseQuery(listSchema, request));
  return { scope: scopeOf(principal, 'jobs'), ...page };
}

/** One's own, or with the scope those of all. */
export async function visibleJobs(
  jobs: JobCalls,
  principal: Principal,
  filter: { readonly [Key in keyof JobFilter]: JobFilter[Key] | undefined },
): Promise<Omit<JobPage, 'scope'>> {
  const principalId = ownerOf(principal, 'jobs');
  const page = await jobs.desk.list(compact<JobFilter>({ ...filter, principalId }));
  const seen = page.jobs.filter((job) => principalId === undefined || jobs.maySee(principal, job));
  return compact({ jobs: seen.map((job) => toJobView(job, principal)), next_cursor: page.next });
}

async function readEvents(request: ConsoleRequest, jobs: JobCalls): Promise<object> {
  const { id, principal_id } = await find(request, jobs);
  if (principal_id !== request.principal.id) throw failure('console_scope/job');
  const after = Number(request.query.get('after') ?? 0) || 0;
  return await jobs.desk.events(principal_id, id, { after, limit: EVENTS });
}

/** One's own, or with the scope any; what may not be seen is not found. */
async function find({ principal, params }: ConsoleRequest, jobs: JobCalls): Promise<StoredJob> {
  if (scopeOf(principal, 'jobs') === 'own') return await jobs.find(principal, params.id);
  const job = await jobs.engine.get(params.id ?? '').catch(() => undefined);
  return job ?? (await jobs.find(principal, params.id));
}

async function findView(request: ConsoleRequest, jobs: JobCalls): Promise<JobView> {
  const job = await find(request, jobs);
  const view = toJobView(job, request.principal);
  const { result } = view.is_own ? toJobDocument(job) : {};
  return compact<JobView>({ ...view, result: result as JobView['result'] });
}

export function toJobView(job: Job, principal: Principal): JobView {
  const isOwn = job.principal_id === principal.id;
  return compact<JobView>({
    job_id: job.id,
    state: job.state,
    principal: job.principal_id,
    is_own: isOwn,
    agent_id: job.agent_id,
    capability: job.capability,
    trace_id: job.trace.trace_id,
    created_at: toTime(job.created_at),
    updated_at: toTime(job.updated_at),
    run_at: toTime(job.run_at),
    finished_at: toTime(job.finished_at),
    deadline_at: toTime(job.deadline_at),
    attempt: job.attempt,
    attempts_allowed: job.retry.attempts,
    progress: isOwn ? job.progress : job.progress && compact({ percent: job.progress.percent }),
    inputs: isOwn && job.inputs ? toQuestions(job) : undefined,
    error: isOwn ? job.error : job.error && { ...job.error, details: {} },
    retry_of: job.retry_of,
    cursor: job.cursor,
    cancelling: job.cancel !== undefined && !isFinal(job.state),
  });
}

export function toQuestions(job: Job): readonly Question[] {
  return openInputs(job).map(({ native: _, ...question }) => question as unknown as Question);
}
