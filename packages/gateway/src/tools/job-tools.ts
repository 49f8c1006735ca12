import { type FabricEvent, givenInputSchema, JOB_STATES, type StoredJob } from '@starloom/core';
import { toJobDocument } from '@starloom/jobs';
import { z } from 'zod';
import type { JobCalls } from '../jobs/job-calls.ts';
import type { Caller } from '../pipeline/call-request.ts';
import { defineTool, READ_ONLY, type Tool } from './tool.ts';

const JOB = { job: { type: 'object' } };
const CHANGES = { readOnlyHint: false, destructiveHint: false, openWorldHint: true };

/** `fabric.job.*`: what a caller may do with its own jobs. */
export function jobTools(jobs: JobCalls): readonly Tool[] {
  const { desk } = jobs;
  const onJob = (
    name: string,
    title: string,
    description: string,
    annotations: Record<string, boolean>,
    run: (id: string, caller: Caller) => Promise<StoredJob>,
  ) =>
    defineTool({
      name,
      title,
      description,
      input: z.strictObject({ job_id: jobIdSchema }),
      output: JOB,
      annotations,
      run: async ({ job_id }, caller) => {
        await jobs.find(caller.principal, job_id);
        return jobResult(await run(job_id, caller));
      },
    });
  return [
    onJob(
      'fabric.job.status',
      'State of a job',
      'Shows a job: state, progress, open questions, and its result once it is over.',
      READ_ONLY,
      (id, { principal }) => jobs.find(principal, id),
    ),
    jobStreamTool(jobs),
    onJob(
      'fabric.job.cancel',
      'Cancel a job',
      'Asks for the end of a job. A queued job ends at once, a running one when its agent stops.',
      { ...CHANGES, destructiveHint: true, idempotentHint: true },
      (id, { principal }) => desk.cancel(principal.id, id),
    ),
    defineTool({
      name: 'fabric.job.list',
      title: 'List jobs',
      description: 'Lists your jobs, newest first, without their results.',
      input: z.strictObject({
        state: z.enum(JOB_STATES).optional(),
        capability: z.string().max(64).optional(),
        limit: z.int().min(1).max(1_000).default(50),
        cursor: z.string().max(64).optional().describe('next_cursor of the page before'),
      }),
      output: { jobs: { type: 'array' }, next_cursor: { type: 'string' } },
      annotations: READ_ONLY,
      async run({ state, capability, limit, cursor }, { principal }) {
        const page = await desk.list({
          principalId: principal.id,
          limit,
          ...(state !== undefined && { state }),
          ...(capability !== undefined && { capability }),
          ...(cursor !== undefined && { cursor }),
        });
        const next = page.next !== undefined && { next_cursor: page.next };
        const visible = page.jobs.filter((job) => jobs.maySee(principal, job));
        return { ok: true, jobs: visible.map(toJobDocument), ...next };
      },
    }),
    onJob(
      'fabric.job.retry',
      'Retry a job',
      'Starts a new job with the call of one that is over.',
      CHANGES,
      (id, caller) => jobs.retry(caller, id),
    ),
    defineTool({
      name: 'fabric.job.input',
      title: 'Answer a job',
      description: 'Answers what the agent of a job asked; `inputs` of the job has the questions.',
      input: z.strictObject({
        job_id: jobIdSchema,
        inputs: z.array(givenInputSchema).min(1).max(32),
      }),
      output: JOB,
      annotations: CHANGES,
      run: async ({ job_id, inputs }, { principal }) => {
        await jobs.find(principal, job_id);
        return jobResult(await jobs.input(principal.id, job_id, inputs));
      },
    }),
  ];
}

function jobResult(job: StoredJob) {
  return { ok: true, job: toJobDocument(job) } as const;
}

const PAGE = 1_000;

/** Live for a caller that takes progress notifications; one page for any other. */
function jobStreamTool(jobs: JobCalls): Tool {
  const { desk } = jobs;
  return defineTool({
    name: 'fabric.job.stream',
    title: 'Follow a job',
    description:
      'Sends the events of a job as progress notifications, from a cursor on, until it is over. ' +
      'Without a progress token it returns the events that are there.',
    input: z.strictObject({
      job_id: jobIdSchema,
      after: z.int().min(0).default(0).describe('The cursor of the last event you have'),
    }),
    output: {
      job: { type: 'object' },
      events: { type: 'array' },
      cursor: { type: 'integer' },
    },
    annotations: READ_ONLY,
    async run({ job_id, after }, { principal, send, signal }) {
      await jobs.find(principal, job_id);
      if (send === undefined) {
        const page = await desk.events(principal.id, job_id, { after, limit: PAGE });
        const job = toJobDocument(await desk.status(principal.id, job_id));
        return { ok: true, ...page, job };
      }
      for await (const { event, cursor } of desk.stream(principal.id, job_id, { after, signal })) {
        // The error that ends a job is an event of its own type, which only jobs have.
        await send(event as FabricEvent, { cursor });
      }
      return { ok: true, job: toJobDocument(await desk.status(principal.id, job_id)) };
    },
  });
}

/** Of any form: what is no id of ours is as unknown as one of another principal. */
const jobIdSchema = z.string().max(4_096).describe('What fabric.call with async answered');
