// The Tasks extension of MCP (`io.modelcontextprotocol/tasks`, SEP-2663): a task is a job of the
// caller, under the same id.

import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import {
  FabricError,
  type InputRequest,
  isFinal,
  openInputs,
  type StoredJob,
} from '@starloom/core';
import { mayUseAgents } from '@starloom/identity';
import { jobNotFound } from '@starloom/jobs';
import { z } from 'zod';
import type { JobCalls } from '../jobs/job-calls.ts';
import { answerTask, errorOf, toTaskResult } from '../jobs/run-as-task.ts';
import { REQUIRED_CAPABILITIES, TASKS_EXTENSION } from '../jobs/tasks-required.ts';
import type { ActiveRequest } from '../observe/observer.ts';
import type { ToolResult } from '../pipeline/respond.ts';
import type { Connection } from './connection.ts';
import { toGivenInputs, toInputRequests } from './input-required.ts';
import { type Credentials, identifiedConnection } from './meta-credential.ts';
import { requestOf, toProtocolError, toRpcError } from './protocol-error.ts';

type Params = Readonly<Record<string, unknown>>;

const POLL_MS = 1_000;

const STATUS = {
  queued: 'working',
  running: 'working',
  awaiting_input: 'input_required',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
} as const satisfies Record<StoredJob['state'], string>;

/** Of any form: what is no id of ours is as unknown as one of another principal. */
const taskSchema = z.looseObject({ taskId: z.unknown() });

/** Whether a client declared the extension, with this request or when it connected. */
export function declaresTasks(declared: Params): boolean {
  const { extensions } = toParams(declared[CLIENT_CAPABILITIES_META_KEY]);
  return toParams(extensions)[TASKS_EXTENSION] !== undefined;
}

/** A call that goes on as a task. */
export function toCreatedTask(job: StoredJob, ttlMs: number): ToolResult {
  return { resultType: 'task', content: [], ...toTask(job, ttlMs) };
}

export function installTasks(
  server: Server,
  connection: Connection,
  jobs: JobCalls,
  credentials: Credentials,
): void {
  const serve = async (
    context: ServerContext,
    taskId: unknown,
    run: (job: StoredJob, capabilities: Params) => Promise<Params>,
  ): Promise<Record<string, unknown>> => {
    const declared: Params = context.mcpReq.envelope ?? {};
    if (!declaresTasks(declared)) throw missingExtension();
    try {
      const { principal } = await identifiedConnection(credentials, context, connection);
      if (!mayUseAgents(principal)) throw jobNotFound(undefined);
      const job = await jobs.find(principal, taskId);
      return { ...(await run(job, toParams(declared[CLIENT_CAPABILITIES_META_KEY]))) };
    } catch (error) {
      throw toTaskError(FabricError.from(error), requestOf(context, connection));
    }
  };
  server.setRequestHandler('tasks/get', { params: taskSchema }, ({ taskId }, context) =>
    serve(context, taskId, async (job, capabilities) => {
      return { ...toTask(job, jobs.keepMs), ...detailsOf(job, capabilities) };
    }),
  );
  server.setRequestHandler('tasks/update', { params: taskSchema }, ({ taskId }, context) =>
    serve(context, taskId, async (job) => {
      // The SDK takes them out of the parameters, since other requests have them too.
      const inputs = toGivenInputs(context.mcpReq.inputResponses) ?? [];
      await answerTask(jobs, job, inputs);
      return {};
    }),
  );
  server.setRequestHandler('tasks/cancel', { params: taskSchema }, ({ taskId }, context) =>
    serve(context, taskId, async ({ id, state, principal_id }) => {
      if (!isFinal(state)) await cancel(jobs, principal_id, id);
      return {};
    }),
  );
}

/** One that ended meanwhile is acknowledged like one that had ended before. */
async function cancel({ desk }: JobCalls, principalId: string, id: unknown): Promise<void> {
  try {
    await desk.cancel(principalId, id);
  } catch (error) {
    if (FabricError.from(error).details.reason !== 'job_finished') throw error;
  }
}

function toTask(job: StoredJob, ttlMs: number) {
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

function detailsOf(job: StoredJob, capabilities: Params): Params {
  switch (job.state) {
    case 'succeeded':
      return { result: toTaskResult(job) };
    case 'failed': {
      const error = errorOf(job);
      if (error.isAgentAnswer) return { result: toTaskResult(job) };
      const { code, message, data } = toRpcError(error, job.trace);
      return { error: { code, message, ...(data !== undefined && { data }) } };
    }
    case 'awaiting_input':
      return { inputRequests: toInputRequests(openInputs(job) as InputRequest[], capabilities) };
    default:
      return {};
  }
}

/** Unknown, foreign and malformed ids are one answer, in the extension's code. */
function toTaskError(error: FabricError, request: ActiveRequest | undefined): ProtocolError {
  if (error.code !== 'JOB_NOT_FOUND') return toProtocolError(error, request);
  request?.fail(error);
  return new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such task');
}

function missingExtension(): MissingRequiredClientCapabilityError {
  return new MissingRequiredClientCapabilityError({ requiredCapabilities: REQUIRED_CAPABILITIES });
}

function toParams(value: unknown): Params {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
