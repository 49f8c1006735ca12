// A message that begins a task, as a job: which capability of which agent it asks for.

import { Message } from '@a2a-js/sdk';
import { LABEL_CONTEXT } from '@starloom/a2a';
import type { NewTask } from '@starloom/a2a/tasks';
import { FabricError, type StoredJob } from '@starloom/core';
import type { Discovery } from '../discovery.ts';
import type { JobCalls } from '../jobs/job-calls.ts';
import type { Caller, CallRequest } from '../pipeline/call-request.ts';
import type { Scope } from './scope.ts';
import { type Before, NO_CAPABILITY, toCallRequest } from './to-request.ts';

interface TaskDeps {
  readonly jobs: JobCalls;
  readonly discovery: Discovery;
}

const DISCOVERY_WAIT_MS = 30_000;
/** Of a card, and of a message to the gateway itself: other agents should not wait for a dead one. */
const SKILLS_WAIT_MS = 2_000;

export async function beginTask(
  { message, metadata, contextId, last }: NewTask,
  scope: Scope,
  caller: Caller,
  deps: TaskDeps,
): Promise<StoredJob> {
  const before = toBefore(await last(), scope);
  const request = await discovered(scope, caller, deps.discovery, () =>
    toCallRequest(message, metadata, contextId, scope, before),
  );
  const { job } = await deps.jobs.submit(
    request,
    { ...caller, meta: metadata },
    {
      isLong: true,
      isTask: true,
      labels: { [LABEL_CONTEXT]: contextId },
      source: Message.toJSON({ ...message, contextId }),
    },
  );
  return job;
}

/** Agents that were not asked yet what they offer are left out of a card after a while. */
export async function awaitSkills(
  scope: Scope,
  caller: Caller,
  discovery: Discovery,
): Promise<void> {
  const ready = discovery.awaitFor({ agent_id: scope.agentId }, caller, SKILLS_WAIT_MS);
  await ready?.catch(() => {});
}

/** What the last task of a context called, and the conversation that it left open. */
function toBefore(last: StoredJob | undefined, scope: Scope): Before | undefined {
  if (last?.agent_id === undefined || !scope.agents.get(last.agent_id)) return undefined;
  const { agent_id: agentId, capability, result } = last;
  const { conversation_id } = (result ?? {}) as { readonly conversation_id?: string };
  return { agentId, capability, conversation_id };
}

/** Reads again once an agent said what it offers; an agent that does not say it is offline. */
async function discovered(
  scope: Scope,
  caller: Caller,
  discovery: Discovery,
  read: () => CallRequest,
): Promise<CallRequest> {
  try {
    return read();
  } catch (error) {
    if (FabricError.from(error).details.reason !== NO_CAPABILITY) throw error;
  }
  const agent_id = scope.agentId;
  if (agent_id === undefined) await awaitSkills(scope, caller, discovery);
  else await discovery.awaitFor({ agent_id }, caller, DISCOVERY_WAIT_MS);
  return read();
}
