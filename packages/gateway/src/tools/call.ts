import { CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/server';
import {
  agentIdSchema,
  attachmentSchema,
  capabilityNameSchema,
  DEFAULT_TIMEOUT_MS,
  givenInputSchema,
  RESPONSE_FORMATS,
} from '@starloom/core';
import { MAX_PRIORITY } from '@starloom/jobs';
import { z } from 'zod';
import type { JobCalls } from '../jobs/job-calls.ts';
import { isJob, runAsJob } from '../jobs/run-as-job.ts';
import { type CallDeps, runCall } from '../pipeline/call.ts';
import type { Caller, CallRequest } from '../pipeline/call-request.ts';
import { isRefusedByHttp } from '../pipeline/limits.ts';
import { askingResult, toCallResult, toErrorResult } from '../pipeline/respond.ts';
import { defineTool, type Tool } from './tool.ts';

const HOUR_MS = 3_600_000;
const milliseconds = z
  .int()
  .min(1)
  .max(24 * HOUR_MS);

const idempotencyKey = z.string().min(1).max(256).optional();

const argumentsSchema = z.strictObject({
  agent_id: agentIdSchema.optional().describe('Which agent; without it the best that offers it'),
  capability: capabilityNameSchema.describe('What it shall do, such as "reason"'),
  task: z.string().default('').describe('What you want, in words'),
  arguments: z
    .record(z.string(), z.unknown())
    .optional()
    .describe("Arguments after the capability's input schema"),
  context: z.record(z.string(), z.unknown()).default({}).describe('Anything it should know'),
  attachments: z.array(attachmentSchema).default([]).describe('Files and other material'),
  stream: z.boolean().default(false).describe('Send events as they happen'),
  format: z.enum(RESPONSE_FORMATS).default('text').describe('What the answer should be'),
  timeout_ms: milliseconds
    .optional()
    .describe(`Bounds each attempt; ${DEFAULT_TIMEOUT_MS} unless the capability says otherwise`),
  deadline_ms: milliseconds.optional().describe('Bounds the whole call; 3 × timeout_ms by default'),
  conversation_id: z
    .string()
    .min(1)
    .max(524_288)
    .optional()
    .describe('Goes on with a conversation, or with a call that asked for input'),
  inputs: z
    .array(givenInputSchema)
    .max(32)
    .optional()
    .describe('Answers to what the agent asked: [{id, response: {action, content}}]'),
  session_id: z.string().min(1).max(256).optional().describe('Session the call belongs to'),
  idempotency_key: idempotencyKey.describe(
    'Handed on to the agent, which may know a repeated call by it',
  ),
});

/** What is advertised only where jobs are on. */
const withJobsSchema = argumentsSchema.extend({
  idempotency_key: idempotencyKey.describe('Same key, same call'),
  async: z.boolean().default(false).describe('Answer with a job_id at once; see fabric.job.*'),
  promote_after_ms: milliseconds.optional().describe('After this the call goes on as a job'),
  run_at: z.iso.datetime({ offset: true }).optional().describe('With async: not before this'),
  priority: z.int().min(-MAX_PRIORITY).max(MAX_PRIORITY).optional().describe('Higher runs first'),
  webhook: z
    .strictObject({
      url: z.url({ protocol: /^https?$/ }).max(2_048),
      secret: z.string().min(8).max(256).optional().describe('Signs the request'),
    })
    .optional()
    .describe('Receives the job when it is over'),
});

export function callTool(deps: CallDeps, jobs?: JobCalls): Tool {
  return defineTool({
    name: 'fabric.call',
    title: 'Call an agent',
    description:
      'Gives a task to an agent by capability and returns its answer. Falls back to other agents ' +
      'when one fails, and says which answered. fabric.agent.list shows the available agents.',
    input: jobs === undefined ? argumentsSchema : withJobsSchema,
    output: {
      result: { type: 'object' },
      agent_id: { type: 'string' },
      capability: { type: 'string' },
      attempts: { type: 'array' },
      fallback: { type: 'boolean' },
      conversation_id: { type: 'string' },
      ...(jobs !== undefined && { job_id: { type: 'string' }, state: { type: 'string' } }),
    },
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
    async run(args, caller) {
      if (args.session_id !== undefined) await deps.assertMember(caller, args.session_id);
      const request = withConversation(args, caller);
      if (jobs !== undefined && isJob(args)) return await runAsJob(request, caller, jobs);
      const outcome = await runCall(request, askable(caller), deps);
      if (!outcome.ok) {
        const { error, trace } = outcome;
        if (isRefusedByHttp(error, caller)) throw error;
        return askingResult(error, caller) ?? toErrorResult(error.toPayload(trace));
      }
      return toCallResult(outcome.dispatched, outcome.trace);
    },
  });
}

/** The protocol of the caller may name the conversation in its own way. */
function withConversation<Request extends CallRequest>(request: Request, caller: Caller): Request {
  const { id, inputs } = caller.conversation ?? {};
  if (id === undefined && inputs === undefined) return request;
  return {
    ...request,
    conversation_id: request.conversation_id ?? id,
    inputs: request.inputs ?? inputs,
  };
}

/** What people are asked comes back as INPUT_REQUIRED, also to clients that declare no elicitation. */
function askable(caller: Caller): Caller {
  const { [CLIENT_CAPABILITIES_META_KEY]: capabilities, ...rest } = caller.declared ?? {};
  if (typeof capabilities !== 'object' || capabilities === null) return caller;
  const all = { elicitation: { form: {}, url: {} }, ...capabilities };
  return { ...caller, declared: { ...rest, [CLIENT_CAPABILITIES_META_KEY]: all } };
}
