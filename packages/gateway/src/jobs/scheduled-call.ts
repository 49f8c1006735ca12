import { type Capability, createTrace, type NewJob, ROOT_HOP } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import { HOUR_MS, type JobCall, toRetry } from './job-call.ts';

/** A call that the configuration makes at certain times. */
export interface ScheduledCall {
  readonly name: string;
  readonly cron: string;
  readonly timezone: string;
  readonly agentId: string;
  readonly capability: string;
  readonly task: string;
  readonly arguments: Record<string, unknown>;
  /** Owns the jobs. */
  readonly principal: Principal;
}

/** What is known of the capability now holds for every job of the schedule. */
export function toScheduledJob(
  { agentId, capability: name, arguments: given, task, principal }: ScheduledCall,
  capability: Capability | undefined,
): NewJob {
  const timeoutMs = capability?.timeout_ms ?? HOUR_MS;
  const call: JobCall = {
    request: {
      agentId,
      capability: name,
      task,
      arguments: given,
      context: {},
      attachments: [],
      stream: true,
      format: 'text',
      timeoutMs,
    },
    principal,
    hop: ROOT_HOP,
  };
  return {
    principalId: principal.id,
    capability: name,
    agentId,
    trace: createTrace(),
    call,
    timeoutMs,
    ...(capability && { idempotent: capability.idempotent === true, retry: toRetry(capability) }),
    ...(capability?.deadline_ms !== undefined && { deadlineMs: capability.deadline_ms }),
  };
}
