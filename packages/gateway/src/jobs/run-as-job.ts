// Which calls become jobs, and what their callers get: a handle at once, or what the call answers when
// it is there in time.

import type { Trace } from '@starloom/core';
import type { Caller, CallRequest } from '../pipeline/call-request.ts';
import { type ToolResult, toErrorResult, toResult } from '../pipeline/respond.ts';
import type { JobCalls, JobTerms } from './job-calls.ts';
import { waitForJob } from './wait-for-job.ts';

export interface AskedTerms {
  readonly async?: boolean;
  readonly promote_after_ms?: number | undefined;
  readonly run_at?: string | undefined;
  readonly priority?: number | undefined;
  readonly webhook?: { readonly url: string; readonly secret?: string | undefined } | undefined;
  readonly idempotency_key?: string | undefined;
  readonly conversation_id?: string | undefined;
}

/** A key makes a call a job too: so that its repetitions join it, also after a restart. */
export interface Terms extends JobTerms {
  /** How long the caller waits for the answer itself. */
  readonly waitMs: number;
}

/** `undefined` for a call that needs no job. */
export function toTerms(args: AskedTerms): Terms | undefined {
  const { promote_after_ms, run_at, priority, webhook, idempotency_key } = args;
  const isAsync = args.async === true || run_at !== undefined;
  const isKeyed = idempotency_key !== undefined && args.conversation_id === undefined;
  const isLong = isAsync || promote_after_ms !== undefined || webhook !== undefined;
  if (!isLong && !isKeyed) return undefined;
  return {
    isLong,
    waitMs: isAsync ? 0 : (promote_after_ms ?? Number.POSITIVE_INFINITY),
    ...(run_at !== undefined && { runAt: Date.parse(run_at) }),
    ...(priority !== undefined && { priority }),
    ...(webhook !== undefined && {
      webhook: {
        url: webhook.url,
        ...(webhook.secret !== undefined && { secret: webhook.secret }),
      },
    }),
  };
}

export async function runAsJob(
  request: CallRequest,
  caller: Caller,
  { waitMs, ...terms }: Terms,
  jobs: JobCalls,
): Promise<ToolResult> {
  const { job: accepted } = await jobs.submit(request, caller, terms);
  const job = waitMs === 0 ? accepted : await waitForJob(jobs.desk, accepted, caller, waitMs);
  const { id: job_id, state, trace } = job;
  if (waitMs > 0 && state === 'succeeded') {
    const result = job.result as { readonly trace?: Trace };
    return toResult(result, result.trace ?? trace);
  }
  if (waitMs > 0 && job.error !== undefined) {
    return toErrorResult({ ok: false, error: job.error, trace });
  }
  return toResult({ ok: true, job_id, state }, trace);
}
