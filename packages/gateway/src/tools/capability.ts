// A capability of an agent as a tool of its own: the arguments go to the agent as they are, and
// what it answers comes back untouched.

import { type Capability, FabricError, type Fields, isObject, type Manifest } from '@starloom/core';
import type { JobCalls } from '../jobs/job-calls.ts';
import { runAsTask, takesTasks, tasksRequired } from '../jobs/run-as-job.ts';
import { withReadableUi } from '../mcp/names.ts';
import { type CallDeps, runCall } from '../pipeline/call.ts';
import type { Caller } from '../pipeline/call-request.ts';
import { isRefusedByHttp } from '../pipeline/limits.ts';
import { askingResult, toCapabilityErrorResult, toCapabilityResult } from '../pipeline/respond.ts';
import type { Tool, ToolDefinition } from './tool.ts';

/** What an agent takes whose protocol has no schemas: the task and context of the envelope. */
const TASK_SCHEMA = {
  type: 'object',
  properties: {
    task: { type: 'string', description: 'What you want, in words' },
    context: { type: 'object', description: 'Anything it should know' },
  },
};

function toDefinition(
  name: string,
  manifest: Manifest,
  capability: Capability,
  isPrefixed = true,
): ToolDefinition {
  const { title, description, annotations, input_schema, output_schema, idempotent } = capability;
  return {
    ...toListed(capability.mcp, isPrefixed ? manifest.agent_id : undefined),
    name,
    ...(title !== undefined && { title }),
    description: description ?? `${capability.name} by ${manifest.agent_id}`,
    inputSchema: { type: 'object', ...(input_schema ?? TASK_SCHEMA) },
    ...(output_schema && { outputSchema: output_schema }),
    annotations: annotations ?? {
      openWorldHint: true,
      ...(idempotent === true && { idempotentHint: true }),
    },
  };
}

/** `execution` is of one hop: the gateway itself waits for the task of an agent, so none is required. */
function toListed({ execution, _meta, ...mcp }: Fields = {}, agentId?: string): Fields {
  const needsTask = isObject(execution) && execution.taskSupport === 'required';
  const isRewritten = agentId !== undefined && isObject(_meta);
  return {
    ...mcp,
    ...(execution !== undefined && {
      execution: needsTask ? { ...execution, taskSupport: 'optional' } : execution,
    }),
    ...(_meta !== undefined && { _meta: isRewritten ? withReadableUi(agentId, _meta) : _meta }),
  };
}

export function capabilityTool(
  name: string,
  manifest: Manifest,
  capability: Capability,
  deps: CallDeps,
  jobs?: JobCalls,
): Tool {
  return {
    definition: toDefinition(
      name,
      manifest,
      capability,
      !deps.unprefixed.includes(manifest.agent_id),
    ),
    mayUse: (principal) => deps.authoriser.maySee(principal, manifest, capability.name),
    hiddenBy: (principal) => deps.authoriser.hiddenBy(principal, manifest, capability.name),
    async run(args, caller) {
      const given = toArguments(args);
      const request = {
        agent_id: manifest.agent_id,
        capability: capability.name,
        task: typeof given.task === 'string' ? given.task : '',
        arguments: given,
        context: {},
        attachments: [],
        stream: caller.send !== undefined,
        format: 'text' as const,
        conversation_id: caller.conversation?.id,
        inputs: caller.conversation?.inputs,
      };
      const { tasks } = capability;
      if (jobs && tasks && takesTasks(caller)) {
        return await runAsTask(request, caller, tasks.after_ms, jobs);
      }
      if (jobs && tasks?.support === 'required') throw tasksRequired();
      const outcome = await runCall(request, caller, deps);
      if (outcome.ok) return toCapabilityResult(outcome.dispatched, outcome.trace);
      if (isForTheClient(outcome.error, caller)) throw outcome.error;
      if (isRefusedByHttp(outcome.error, caller)) throw outcome.error;
      return (
        askingResult(outcome.error, caller) ?? toCapabilityErrorResult(outcome.error, outcome.trace)
      );
    },
  };
}

/**
 * A client that can be asked gets what an agent says of the asking itself: that it needs to ask and
 * cannot, or that it refuses what was brought back.
 */
function isForTheClient({ details, code }: FabricError, { conversation }: Caller): boolean {
  if (conversation?.id !== undefined && code === 'BAD_INPUT') return true;
  return details.rpc !== undefined && details.reason === 'missing_client_capability';
}

function toArguments(args: unknown): Record<string, unknown> {
  if (args === undefined || args === null) return {};
  if (isObject(args)) return { ...args };
  throw new FabricError('BAD_INPUT', 'The arguments of a tool are an object');
}
