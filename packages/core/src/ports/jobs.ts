// Durable calls, as two ports over one engine. `JobRecords` keeps jobs, events and transitions;
// `JobQueue` decides who works on what and when. An engine fills both in the same transaction.

import type {
  Job,
  JobAnswer,
  JobEvent,
  JobInput,
  JobOutcome,
  JobState,
  NewJob,
  StoredJob,
  UpstreamHandle,
} from '../job.ts';

const QUEUE_PURPOSES = ['run', 'webhook'] as const;
export type QueuePurpose = (typeof QUEUE_PURPOSES)[number];

/**
 * What a worker has to do with a job it claimed.
 * - `start`: call the agent; nothing was sent for this attempt.
 * - `repeat`: call again; the capability is idempotent.
 * - `rejoin`: go on with the upstream task of `job.handle`; the call is not sent again.
 * - `interrupted`: the call may have been sent and must not be sent again: fail the job.
 * - `cancel`: deliver the cancellation where possible, then end the job as cancelled.
 * - `late`, `unanswered`: the deadline or the open question has expired.
 */
export type ClaimMode =
  | 'start'
  | 'repeat'
  | 'rejoin'
  | 'interrupted'
  | 'cancel'
  | 'late'
  | 'unanswered';

/** A job in the hands of one worker. */
export interface Claim {
  readonly purpose: QueuePurpose;
  /** As it was when it was claimed. */
  readonly job: Job;
  readonly call: unknown;
  readonly mode: ClaimMode;
  /** Proves the claim; a later claim of the same job makes it worthless. */
  readonly lease: string;
  /** How often this place in the queue was claimed, this time included. */
  readonly tries: number;
}

export interface JobFilter {
  /** Without it those of all principals, for operators. */
  readonly principalId?: string;
  readonly state?: JobState;
  /** In any spelling. */
  readonly capability?: string;
  readonly limit: number;
  /** `next` of the page before. */
  readonly cursor?: string;
}

export interface JobPage {
  /** Newest first. */
  readonly jobs: readonly Job[];
  readonly next?: string;
}

export interface JobEventPage {
  /** The first has the number `after + 1`. */
  readonly events: readonly JobEvent[];
  /** Number of the last event here; `after` when there is none. */
  readonly cursor: number;
}

/** JSON under a name. `due` is the one by which jobs are found: an object. */
export interface JobNote {
  readonly name: string;
  readonly was: unknown;
  readonly value: unknown;
}

export interface JobCounts {
  readonly states: Readonly<Record<JobState, number>>;
  /** When the oldest job that waits for a worker became ready. */
  readonly oldest_queued_at?: number;
}

/** A question of the agent that runs a job. */
export interface Asked {
  readonly inputs: readonly JobInput[];
  readonly expiresAt: number;
  /** Set when the agent keeps the question; without it the worker waits for the answer itself. */
  readonly handle?: UpstreamHandle;
}

/**
 * What an accepted job is. Everything that resolved is on disk. A method with a claim resolves to
 * `false`, and changes nothing, when another worker has claimed the job since or the job is over: so a
 * result is recorded once. Throws OVERLOADED with reason `engine_unavailable` or `disk_full` when the
 * engine cannot write; a write that failed so may have happened only when it was
 * `engine_unavailable`.
 */
export interface JobRecords {
  /**
   * Stores the job and its place in the queue in one step. `created` is false when the principal used
   * the idempotency key within 24 hours: then it is the job of that time. BAD_INPUT with reason
   * `idempotency_key_reused` when that job has another call.
   */
  create(job: NewJob): Promise<{ readonly job: StoredJob; readonly created: boolean }>;
  get(id: string): Promise<StoredJob | undefined>;
  /** The call of a job, for a retry of it. */
  callOf(id: string): Promise<unknown>;
  /** BAD_INPUT for a cursor that no page gave. */
  list(filter: JobFilter): Promise<JobPage>;
  /** BAD_INPUT for `after` beyond the last event; JOB_NOT_FOUND for an unknown job. */
  events(id: string, options: { after: number; limit: number }): Promise<JobEventPage>;
  /**
   * Calls back after each change of the job, whichever process made it, at least once: a hint to read
   * on. Never after it stopped. The listener must not throw.
   */
  watch(id: string, listener: () => void): () => void;

  append(claim: Claim, events: readonly JobEvent[]): Promise<boolean>;
  /**
   * Must resolve before anything of a call that is not idempotent may reach an agent: from then on a
   * crash ends the job instead of repeating the call.
   */
  markSent(claim: Claim): Promise<boolean>;
  keepHandle(claim: Claim, handle: UpstreamHandle): Promise<boolean>;
  markCancelDelivered(claim: Claim): Promise<boolean>;
  /** To `awaiting_input`. With a handle the claim is over; without one the worker keeps it. */
  ask(claim: Claim, asked: Asked, events: readonly JobEvent[]): Promise<boolean>;
  /**
   * A parked attempt whose job is `running` again goes on with the `answers` of the record, which count
   * as used from now on. May be repeated.
   */
  resume(claim: Claim): Promise<boolean>;
  /** The events end with `final` or `error`. Queues the webhook in the same step. */
  finish(claim: Claim, outcome: JobOutcome, events: readonly JobEvent[]): Promise<boolean>;

  /** BAD_INPUT with reason `no_open_question` unless every answer has an open question. */
  answer(id: string, answers: readonly JobAnswer[]): Promise<StoredJob | undefined>;
  /** Ends an idle job at once; for a running one its worker learns of it. */
  requestCancel(id: string): Promise<StoredJob | undefined>;
  /**
   * Keeps something with a job, of any state, until the job is deleted; `undefined` removes it. Nothing
   * happens, and it resolves to `false`, when what is kept is not `was`. Notes are no change of the job
   * itself: `updated_at` stays.
   */
  note(id: string, note: JobNote): Promise<boolean>;
  /** Jobs of all principals whose note `due` is set, oldest first. */
  listDue(limit: number): Promise<readonly Job[]>;
  /** Deletes jobs that ended before a moment, at most so many; says how many. */
  prune(options: { readonly before: number; readonly limit: number }): Promise<number>;
  /** Cancels what runs of a principal and deletes what is over, at once; says how many of each. */
  erase(principalId: string): Promise<{ readonly deleted: number; readonly open: number }>;
  counts(): Promise<JobCounts>;
}

export interface ClaimOptions {
  /** `webhook`: jobs that are over and have one to deliver. */
  readonly purpose?: QueuePurpose;
  readonly leaseMs: number;
  readonly limit: number;
  /** At most so many jobs of one agent run at once, over all workers. */
  readonly perAgent?: number;
}

export interface Renewal {
  /** False: another worker may have the job now, or soon. */
  readonly held: boolean;
  readonly cancelRequested: boolean;
}

export interface JobSchedule {
  readonly name: string;
  /** Five fields. */
  readonly cron: string;
  /** UTC unless it is said. */
  readonly timezone?: string;
  readonly job: NewJob;
}

/**
 * Which job runs when, and where. A job is claimed by one worker at a time; one whose worker did not
 * renew in time is given to another. Higher priorities come first, then older jobs.
 */
export interface JobQueue {
  /** Empty when nothing is due. */
  claim(options: ClaimOptions): Promise<readonly Claim[]>;
  /** In the order of the claims. */
  renew(claims: readonly Claim[], leaseMs: number): Promise<readonly Renewal[]>;
  /** Another attempt, after the backoff of the job's policy. Forgets handle and sent mark. */
  retry(claim: Claim, events: readonly JobEvent[]): Promise<boolean>;
  /** Gives the job back at once, as a worker that shuts down before it sent anything. */
  release(claim: Claim): Promise<boolean>;
  /** A webhook was delivered, or given up. */
  settle(claim: Claim): Promise<void>;
  /** Another try at the webhook, after the backoff. */
  postpone(claim: Claim, delayMs: number): Promise<void>;
  /** Calls back when there may be something to claim: a hint, beside polling. */
  onReady(listener: () => void): () => void;
  /** A new job at each time of the cron expression, by whichever process is up. */
  schedule(schedule: JobSchedule): Promise<void>;
  unschedule(name: string): Promise<void>;
  schedules(): Promise<readonly Omit<JobSchedule, 'job'>[]>;
}

export interface JobEngine extends JobRecords, JobQueue {
  readonly kind: string;
  /** Does a small piece of real work; throws when the engine cannot. */
  check(): Promise<void>;
  close(): Promise<void>;
}
