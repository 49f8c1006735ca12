// Which calls become jobs, and what their callers get: a handle at once, or what the call answers when
// it is there in time.

import {
  FabricError,
  type FabricEvent,
  type InputRequest,
  isFinal,
  type JobWebhook,
  openInputs,
  type StoredJob,
  type Trace,
} from '@starloom/core';
import { waitForJob } from '@starloom/jobs';
import type { Caller, CallRequest } from '../pipeline/call-request.ts';
import type { Dispatched } from '../pipeline/dispatch.ts';
import {
  type ToolResult,
  toCapabilityErrorResult,
  toCapabilityResult,
  toErrorResult,
  toResult,
} from '../pipeline/respond.ts';
import { failure } from '../reasons.ts';
import type { JobCalls } from './job-calls.ts';

/** What `fabric.call` takes of a job, beside the call. */
interface AskedTerms {
  readonly async?: boolean;
  readonly promote_after_ms?: number | undefined;
  readonly run_at?: string | undefined;
  readonly priority?: number | undefined;
  readonly webhook?: { readonly url: string; readonly secret?: string | undefined } | undefined;
}

type AskedJob = CallRequest & AskedTerms;

/** Whether a call is a job. A key makes it one too: so that its repetitions join it, also after a restart. */
export function isJob(asked: AskedJob): boolean {
  const { idempotency_key, conversation_id } = asked;
  return isLong(asked) || (idempotency_key !== undefined && conversation_id === undefined);
}

function isLong({ async: isAsync, run_at, promote_after_ms, webhook }: AskedTerms): boolean {
  const isPut = run_at !== undefined || promote_after_ms !== undefined || webhook !== undefined;
  return isAsync === true || isPut;
}

export async function runAsJob(
  asked: AskedJob,
  caller: Caller,
  jobs: JobCalls,
): Promise<ToolResult> {
  const { async: isAsync, promote_after_ms, run_at, priority, webhook, ...request } = asked;
  // How long the caller waits for the answer itself.
  const isPutOff = isAsync === true || run_at !== undefined;
  const waitMs = isPutOff ? 0 : (promote_after_ms ?? Number.POSITIVE_INFINITY);
  const { job: accepted } = await jobs.submit(request, caller, {
    isLong: isLong(asked),
    runAt: run_at === undefined ? undefined : Date.parse(run_at),
    priority,
    webhook: webhook as JobWebhook | undefined,
  });
  const job =
    waitMs === 0 ? accepted : await waitForJob(jobs.desk, accepted.id, toWait(caller, waitMs));
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

// A capability's tool for clients that take tasks: the call is a job from the start. What is there
// soon is answered at once, as without a job; later the client gets a task.

/** Of the state that a client brings back with its answers, before there is a task. */
const STATE_PREFIX = 'job:';

type TaskCaller = Caller & Required<Pick<Caller, 'toTask'>>;

export function takesTasks(caller: Caller): caller is TaskCaller {
  return caller.toTask !== undefined;
}

export async function runAsTask(
  request: CallRequest,
  caller: TaskCaller,
  waitMs: number,
  jobs: JobCalls,
): Promise<ToolResult> {
  const accepted = await accept(request, caller, jobs);
  const job = await settle(accepted, caller, waitMs, jobs);
  if (isFinal(job.state)) {
    if (errorOf(job).details.reason === 'missing_client_capability') throw errorOf(job);
    return toTaskResult(job);
  }
  const asked =
    job.state === 'awaiting_input' && waitMs > 0
      ? caller.toInputRequired?.(openInputs(job) as InputRequest[], `${STATE_PREFIX}${job.id}`)
      : undefined;
  return asked ?? caller.toTask?.(job, jobs.keepMs) ?? toTaskResult(job);
}

/** Answers that fit no open question are ignored, as the Tasks extension asks. */
export async function answerTask(
  jobs: JobCalls,
  job: StoredJob,
  inputs: NonNullable<CallRequest['inputs']>,
): Promise<StoredJob> {
  const open = new Set(openInputs(job).map((input) => input.id));
  const fitting = inputs.filter((input) => open.has(input.id));
  return fitting.length === 0 ? job : await jobs.input(job.principal_id, job.id, fitting);
}

/** The result of a tool whose job is over; an error for one that failed without an answer. */
export function toTaskResult(job: StoredJob): ToolResult {
  const { trace, error } = job;
  if (error !== undefined) return toCapabilityErrorResult(errorOf(job), trace);
  return toCapabilityResult(job.result as unknown as Dispatched, trace);
}

/** What a job failed with; `answer` when the agent itself answered with an error. */
export function errorOf({ error }: StoredJob): FabricError {
  const { code = 'INTERNAL', message = 'The job has no result', details = {} } = error ?? {};
  const { answer, ...rest } = details;
  const isAnswer = typeof answer === 'object' && answer !== null;
  return new FabricError(code, message, {
    details: rest,
    ...(isAnswer && { answer: { ...answer } }),
  });
}

async function accept(request: CallRequest, caller: Caller, jobs: JobCalls): Promise<StoredJob> {
  const { conversation_id, inputs = [] } = request;
  if (!conversation_id?.startsWith(STATE_PREFIX)) {
    return (await jobs.submit(request, caller, { isLong: true, isTask: true })).job;
  }
  const id = conversation_id.slice(STATE_PREFIX.length);
  const job = await jobs.find(caller.principal, id).catch(() => undefined);
  const isOwn = job?.agent_id === request.agent_id && job?.capability === request.capability;
  if (!job || !isOwn) throw failure('unknown_conversation');
  return await answerTask(jobs, job, inputs);
}

/** The job when it is over, asks, or took too long. A caller that leaves meanwhile never knew of it. */
async function settle(
  accepted: StoredJob,
  caller: Caller,
  waitMs: number,
  { desk }: JobCalls,
): Promise<StoredJob> {
  if (waitMs === 0 || accepted.state === 'awaiting_input') return accepted;
  try {
    return await waitForJob(desk, accepted.id, toWait(caller, waitMs, accepted.cursor));
  } catch (error) {
    await desk.cancel(caller.principal.id, accepted.id).catch(() => undefined);
    throw error;
  }
}

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';
export const MISSING_CAPABILITY = -32_021;

/** As MCP says it of a client that declared too little. */
export const REQUIRED_CAPABILITIES = { extensions: { [TASKS_EXTENSION]: {} } };

/** For a tool that answers with tasks alone, called by a client that takes none. */
export function tasksRequired(): FabricError {
  const message = 'The tool needs a client with the MCP Tasks extension';
  const data = { requiredCapabilities: REQUIRED_CAPABILITIES };
  return new FabricError('BAD_INPUT', message, {
    details: {
      reason: 'missing_client_capability',
      rpc: { code: MISSING_CAPABILITY, message, data },
      fix: `Declare the extension ${TASKS_EXTENSION}, or call with fabric.call`,
    },
  });
}

/** A caller that waits for a job as for a call gets its events as they happen. */
function toWait({ principal, send, signal }: Caller, ms: number, after = 0) {
  const onEvent = async (event: FabricEvent, cursor: number) => {
    await send?.(event, { cursor });
  };
  return { principalId: principal.id, signal, ms, after, onEvent };
}
