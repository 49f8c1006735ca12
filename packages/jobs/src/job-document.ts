import {
  type FabricError,
  type JobError,
  type JobInput,
  type JobState,
  openInputs,
  type StoredJob,
} from '@starloom/core';
import { failure } from './reasons.ts';

/** A job as clients see it. */
export interface JobDocument {
  readonly job_id: string;
  readonly state: JobState;
  readonly agent_id?: string;
  readonly capability: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly attempt: number;
  readonly progress?: { readonly percent?: number; readonly message?: string };
  readonly inputs?: readonly JobInput[];
  readonly result?: unknown;
  readonly error?: JobError;
  readonly retry_of?: string;
  readonly cursor: number;
}

export function toJobDocument(job: StoredJob): JobDocument {
  const { id, state, agent_id, capability, attempt, progress, result, error, retry_of } = job;
  return {
    job_id: id,
    state,
    ...(agent_id !== undefined && { agent_id }),
    capability,
    created_at: new Date(job.created_at).toISOString(),
    updated_at: new Date(job.updated_at).toISOString(),
    attempt,
    ...(progress !== undefined && { progress }),
    ...(job.inputs !== undefined && { inputs: openInputs(job) }),
    ...(result !== undefined && { result: withoutUpstream(result) }),
    ...(error !== undefined && { error }),
    ...(retry_of !== undefined && { retry_of }),
    cursor: job.cursor,
  };
}

/** Jobs that are tasks keep what the agent answered as it was; `result` is what `fabric.call` answers. */
function withoutUpstream(stored: unknown): unknown {
  const whole = stored as { readonly result?: { readonly upstream?: unknown } } | null;
  if (whole?.result?.upstream === undefined) return stored;
  const { upstream: _, ...result } = whole.result;
  return { ...whole, result };
}

/** One answer for unknown, foreign and malformed ids. */
export function jobNotFound(id: unknown): FabricError {
  return failure('job_not_found', { job_id: typeof id === 'string' ? id.slice(0, 64) : null });
}
