import {
  type Capability,
  createTrace,
  type Hop,
  type JobRetryPolicy,
  type NewJob,
  ROOT_HOP,
  type TrustTier,
} from '@starloom/core';
import type { DelegateRequest, Principal } from '@starloom/identity';
import type { Caller, CallRequest } from '../pipeline/call-request.ts';

/** What is stored of a call, for the gateway that runs it. */
export interface JobCall {
  readonly request: StoredRequest;
  readonly principal: Principal;
  readonly hop: Hop;
  /** The lowest tier of those along the chain of the call. */
  readonly originTier?: TrustTier | undefined;
  /** Made with a mandate: no attempt begins after this time. */
  readonly beginBy?: number | undefined;
  /** What the caller asked the mint for. */
  readonly delegate?: DelegateRequest | undefined;
  /** What the request carried for the agent. */
  readonly meta?: Caller['meta'] | undefined;
  readonly isTask?: boolean | undefined;
  /** What the caller of a task declared of itself. */
  readonly declared?: Caller['declared'];
  /** What the face keeps of the request. */
  readonly source?: unknown;
}

/** Gateways of other versions read what this one stores, so these keep the names that they have there. */
const STORED_NAMES = {
  agent_id: 'agentId',
  timeout_ms: 'timeoutMs',
  deadline_ms: 'deadlineMs',
  session_id: 'sessionId',
  idempotency_key: 'idempotencyKey',
  conversation_id: 'conversationId',
} as const satisfies Partial<Record<keyof CallRequest, string>>;

type StoredName = keyof typeof STORED_NAMES;

/** A request under the names that it is stored by. */
type StoredRequest = Omit<CallRequest, StoredName> & {
  readonly [Name in StoredName as (typeof STORED_NAMES)[Name]]?: CallRequest[Name];
};

export function toStored(request: CallRequest): StoredRequest {
  return rename(request, new Map(Object.entries(STORED_NAMES))) as unknown as StoredRequest;
}

export function fromStored(stored: StoredRequest): CallRequest {
  const names = Object.entries(STORED_NAMES).map(([name, kept]) => [kept, name] as const);
  return rename(stored, new Map(names)) as unknown as CallRequest;
}

function rename(fields: object, names: ReadonlyMap<string, string>) {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [names.get(name) ?? name, value]),
  );
}

/** Of one attempt, unless the capability says otherwise. */
export const HOUR_MS = 3_600_000;

/** Attempts and backoff as the capability says; the rest is as for every job. */
export function toRetry({ retries = {} }: Capability): Partial<JobRetryPolicy> {
  const given = Object.entries(retries).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given);
}

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
    request: toStored({
      agent_id: agentId,
      capability: name,
      task,
      arguments: given,
      context: {},
      attachments: [],
      stream: true,
      format: 'text',
      timeout_ms: timeoutMs,
    }),
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
