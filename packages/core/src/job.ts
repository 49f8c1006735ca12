// The record of one durable call. Its call and its outcome are kept beside it: they can be large and
// change at most once, while the record changes with every event.

import type { ErrorPayload } from './errors.ts';
import type { FabricEvent } from './events.ts';
import type { Trace } from './trace.ts';

export const JOB_STATES = [
  'queued',
  'running',
  'awaiting_input',
  'succeeded',
  'failed',
  'cancelled',
] as const;

export type JobState = (typeof JOB_STATES)[number];
export type FinalJobState = 'succeeded' | 'failed' | 'cancelled';

export type JobError = ErrorPayload['error'];

/** The last event of a job that did not succeed. */
export interface JobErrorEvent {
  readonly type: 'error';
  readonly seq: number;
  readonly at: string;
  readonly trace: Trace;
  readonly agent_id?: string;
  readonly error: JobError;
}

export type JobEvent = FabricEvent | JobErrorEvent;

/** What names a running task at the agent, so that it can be rejoined after a restart. */
export type UpstreamHandle = Readonly<Record<string, unknown>>;

/** A question of the agent that waits for an answer. */
export interface JobInput {
  readonly id: string;
  readonly [field: string]: unknown;
}

export interface JobAnswer {
  readonly id: string;
  readonly response: Readonly<Record<string, unknown>>;
}

export interface JobRetryPolicy {
  /** How often the call may be attempted in all. */
  readonly attempts: number;
  /** Least wait before the second attempt; doubles with each further one. */
  readonly backoff_ms: number;
  readonly max_backoff_ms: number;
}

export interface JobWebhook {
  readonly url: string;
  /** Signs the body; the receiver knows it too. */
  readonly secret?: string;
}

interface JobCancellation {
  readonly requested_at: number;
  /** When the worker passed it on to the agent. */
  readonly delivered_at?: number;
}

export interface Job {
  readonly id: string;
  readonly principal_id: string;
  readonly state: JobState;
  readonly capability: string;
  readonly agent_id?: string;
  readonly trace: Trace;
  /** The capability may be called again with the same arguments, with the effect of one call. */
  readonly idempotent: boolean;
  /** Bounds one attempt. */
  readonly timeout_ms: number;
  readonly deadline_at?: number;
  readonly run_at?: number;
  readonly priority: number;
  readonly retry: JobRetryPolicy;
  readonly webhook?: JobWebhook;
  readonly retry_of?: string;
  readonly idempotency_key?: string;
  /** What the face that made it finds it by, such as a context. */
  readonly labels?: Readonly<Record<string, string>>;
  /** What faces keep with the job, such as webhooks; see `JobRecords.note`. */
  readonly notes?: Readonly<Record<string, unknown>>;
  readonly created_at: number;
  readonly updated_at: number;
  readonly finished_at?: number;
  /** How often the call was begun. Rejoining a running upstream task is no new attempt. */
  readonly attempt: number;
  /** The current attempt may have reached an agent. */
  readonly sent: boolean;
  readonly handle?: UpstreamHandle;
  readonly cancel?: JobCancellation;
  /** Number of stored events, over all attempts. */
  readonly cursor: number;
  /** `seq` of the last event in the current leg of the stream. */
  readonly seq: number;
  readonly progress?: { readonly percent?: number; readonly message?: string };
  /** Open questions. */
  readonly inputs?: readonly JobInput[];
  /** Answers that no worker has used yet. */
  readonly answers?: readonly JobAnswer[];
  readonly input_expires_at?: number;
  /** The attempt that asked waits inside its worker: only that worker can go on. */
  readonly parked?: boolean;
  readonly error?: JobError;
}

export type JobOutcome =
  | { readonly state: 'succeeded'; readonly result: unknown }
  | { readonly state: 'failed' | 'cancelled'; readonly error: JobError };

/** A job with what `fabric.call` would have answered, once it succeeded. */
export interface StoredJob extends Job {
  readonly result?: unknown;
}

/** What jobs of one principal may take. */
export interface JobQuota {
  /** Jobs that are not over. */
  readonly jobs: number;
  /** Of their calls at least; an engine on a disk of the gateway counts all that it keeps. */
  readonly bytes: number;
}

export interface NewJob {
  readonly principalId: string;
  readonly capability: string;
  readonly agentId?: string;
  readonly trace: Trace;
  /** Anything that is JSON; only the function that runs the job reads it. */
  readonly call: unknown;
  readonly idempotent?: boolean;
  readonly timeoutMs: number;
  readonly deadlineAt?: number;
  /** Instead of `deadlineAt`: from the time on when the job may run. */
  readonly deadlineMs?: number;
  readonly runAt?: number;
  readonly priority?: number;
  readonly retry?: Partial<JobRetryPolicy>;
  readonly webhook?: JobWebhook;
  readonly retryOf?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** For 24 hours the same principal gets the same job for the same key. */
  readonly idempotencyKey?: string;
  /** Refused when its principal has more; without one it is not counted. */
  readonly quota?: JobQuota;
  /** What makes two calls the same for a key, where that is not all of `call`. */
  readonly asked?: unknown;
}

/** The questions of a job that have no answer yet. */
export function openInputs({ inputs = [], answers = [] }: Job): readonly JobInput[] {
  const given = new Set(answers.map(({ id }) => id));
  return inputs.filter(({ id }) => !given.has(id));
}

export function isFinal(state: JobState): state is FinalJobState {
  return state === 'succeeded' || state === 'failed' || state === 'cancelled';
}
