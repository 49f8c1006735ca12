// A capability's tool for clients that take tasks: the call is a job from the start. What is there
// soon is answered at once, as without a job; later the client gets a task.

import {
  FabricError,
  type InputRequest,
  isFinal,
  openInputs,
  type StoredJob,
} from '@starloom/core';
import type { Caller, CallRequest } from '../pipeline/call-request.ts';
import { unknownConversation } from '../pipeline/conversations.ts';
import type { Dispatched } from '../pipeline/dispatch.ts';
import {
  type ToolResult,
  toCapabilityErrorResult,
  toCapabilityResult,
} from '../pipeline/respond.ts';
import type { JobCalls } from './job-calls.ts';
import { waitForJob } from './wait-for-job.ts';

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
  const stored = job.result as {
    readonly result: Dispatched['result'];
    readonly agent_id: string;
    readonly attempts: Dispatched['attempts'];
    readonly fallback: boolean;
    readonly conversation_id?: string;
  };
  const { result, agent_id: agentId, attempts, fallback, conversation_id } = stored;
  const { capability } = job;
  const dispatched = { result, agentId, capability, attempts, fallback };
  return toCapabilityResult({ ...dispatched, conversationId: conversation_id }, trace);
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
  const { conversationId, inputs = [] } = request;
  if (!conversationId?.startsWith(STATE_PREFIX)) {
    return (await jobs.submit(request, caller, { isLong: true, isTask: true })).job;
  }
  const id = conversationId.slice(STATE_PREFIX.length);
  const job = await jobs.find(caller.principal, id).catch(() => undefined);
  const isOwn = job?.agent_id === request.agentId && job?.capability === request.capability;
  if (!job || !isOwn) throw unknownConversation();
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
    return await waitForJob(desk, accepted, caller, waitMs, accepted.cursor);
  } catch (error) {
    await desk.cancel(caller.principal.id, accepted.id).catch(() => undefined);
    throw error;
  }
}
