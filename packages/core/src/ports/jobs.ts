import type { Envelope } from '../envelope.ts';
import type { ErrorPayload } from '../errors.ts';
import type { FabricEvent } from '../events.ts';
import type { Attempt, CallResult } from '../result.ts';

export const JOB_STATES = [
  'queued',
  'running',
  'awaiting_input',
  'succeeded',
  'failed',
  'cancelled',
] as const;

export type JobState = (typeof JOB_STATES)[number];

export type JobOutcome =
  | { readonly state: 'succeeded'; readonly result: CallResult; readonly attempts: Attempt[] }
  | { readonly state: 'failed' | 'cancelled'; readonly error: ErrorPayload['error'] };

export interface Job {
  readonly id: string;
  readonly principal_id: string;
  readonly state: JobState;
  readonly envelope: Envelope;
  /** How often a worker began it. */
  readonly attempt: number;
  readonly cancel_requested: boolean;
  readonly created_at: number;
  readonly updated_at: number;
  readonly outcome?: JobOutcome;
}

export interface NewJob {
  readonly envelope: Envelope;
  readonly principalId: string;
  /** The same principal with the same key gets the job that is there already. */
  readonly idempotencyKey?: string;
}

export interface Claim {
  readonly job: Job;
  /** Proves the claim; a later claim of the same job makes it worthless. */
  readonly lease: string;
}

/**
 * Durable calls. What `create` answered survives a crash. A job runs under one lease at a time; an
 * expired lease puts it back in the queue; what a worker with a lost lease writes is refused
 * (`false`), so each job ends exactly once.
 */
export interface JobStore {
  create(job: NewJob): Promise<{ readonly job: Job; readonly created: boolean }>;
  get(id: string): Promise<Job | undefined>;
  /** Newest first. */
  list(filter: {
    readonly principalId: string;
    readonly state?: JobState;
    readonly limit?: number;
  }): Promise<readonly Job[]>;
  /** Takes the oldest queued jobs, or those whose lease expired; empty when there is none. */
  claim(options: { readonly leaseMs: number; readonly limit: number }): Promise<readonly Claim[]>;
  /** Prolongs the lease; tells whether somebody asked to cancel. `undefined`: the lease is lost. */
  renew(claim: Claim, leaseMs: number): Promise<{ cancelRequested: boolean } | undefined>;
  append(claim: Claim, events: readonly FabricEvent[]): Promise<boolean>;
  /** Events of all attempts, in the order they were appended, after the given position. */
  events(
    id: string,
    options: { readonly after: number; readonly limit: number },
  ): Promise<{ readonly events: readonly FabricEvent[]; readonly cursor: number }>;
  finish(claim: Claim, outcome: JobOutcome): Promise<boolean>;
  /** A queued job is cancelled at once; a running one when its worker renews. */
  requestCancel(id: string): Promise<Job | undefined>;
  close(): Promise<void>;
}
