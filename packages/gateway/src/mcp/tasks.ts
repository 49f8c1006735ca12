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
  toFields,
} from '@starloom/core';
import { mayUseAgents } from '@starloom/identity';
import { jobNotFound } from '@starloom/jobs';
import { toGivenInputs, toInputRequests } from '@starloom/mcp-client/server';
import { z } from 'zod';
import type { JobCalls } from '../jobs/job-calls.ts';
import { answerTask, errorOf, REQUIRED_CAPABILITIES, toTaskResult } from '../jobs/run-as-job.ts';
import type { ActiveRequest } from '../observe/observer.ts';
import {
  type Connection,
  type Credentials,
  identifiedConnection,
  requestOf,
  toProtocolError,
  toRpcError,
} from './connection.ts';
import { declaresTasks } from './to-caller.ts';
import { toTask } from './to-task.ts';

type Params = Readonly<Record<string, unknown>>;

/** Of any form: what is no id of ours is as unknown as one of another principal. */
const taskSchema = z.looseObject({ taskId: z.unknown() });

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
      return { ...(await run(job, toFields(declared[CLIENT_CAPABILITIES_META_KEY]))) };
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
function toTaskError(error: FabricError, request: ActiveRequest | undefined): Error {
  if (error.code !== 'JOB_NOT_FOUND') return toProtocolError(error, request);
  request?.fail(error);
  return new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such task');
}

function missingExtension(): MissingRequiredClientCapabilityError {
  return new MissingRequiredClientCapabilityError({ requiredCapabilities: REQUIRED_CAPABILITIES });
}
