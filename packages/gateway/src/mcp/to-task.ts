// A task of the client is a job of the caller, under the same id.

import type { StoredJob } from '@starloom/core';
import { errorOf } from '../jobs/run-as-job.ts';
import type { ToolResult } from '../pipeline/respond.ts';

const POLL_MS = 1_000;

const STATUS = {
  queued: 'working',
  running: 'working',
  awaiting_input: 'input_required',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
} as const satisfies Record<StoredJob['state'], string>;

/** A call that goes on as a task. */
export function toCreatedTask(job: StoredJob, ttlMs: number): ToolResult {
  return { resultType: 'task', content: [], ...toTask(job, ttlMs) };
}

export function toTask(job: StoredJob, ttlMs: number) {
  const { state, progress } = job;
  const isAnswer = state === 'failed' && errorOf(job).isAgentAnswer;
  return {
    taskId: job.id,
    status: isAnswer ? 'completed' : STATUS[state],
    ...(progress?.message !== undefined && { statusMessage: progress.message }),
    createdAt: new Date(job.created_at).toISOString(),
    lastUpdatedAt: new Date(job.updated_at).toISOString(),
    ttlMs,
    pollIntervalMs: POLL_MS,
  };
}
