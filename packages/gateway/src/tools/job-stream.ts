import type { FabricEvent } from '@starloom/core';
import { toJobDocument } from '@starloom/jobs';
import { z } from 'zod';
import type { JobCalls } from '../jobs/job-calls.ts';
import { jobIdSchema } from './job-id.ts';
import { defineTool, READ_ONLY, type Tool } from './tool.ts';

const PAGE = 1_000;

/** Live for a caller that takes progress notifications; one page for any other. */
export function jobStreamTool(jobs: JobCalls): Tool {
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
