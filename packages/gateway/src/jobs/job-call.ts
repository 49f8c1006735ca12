import type { Capability, Hop, JobRetryPolicy, TrustTier } from '@starloom/core';
import type { DelegateRequest, Principal } from '@starloom/identity';
import type { Caller, CallRequest } from '../pipeline/call-request.ts';

/** What is stored of a call, for the gateway that runs it. */
export interface JobCall {
  readonly request: CallRequest;
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

/** Of one attempt, unless the capability says otherwise. */
export const HOUR_MS = 3_600_000;

/** Attempts and backoff as the capability says; the rest is as for every job. */
export function toRetry({ retries = {} }: Capability): Partial<JobRetryPolicy> {
  const given = Object.entries(retries).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given);
}
