import type { Job, JobQuota, JobState } from '@starloom/core';

/** A place in the queue. A job has at most one per purpose; one that is over has none to run. */
export interface QueueEntry {
  readonly jobId: string;
  readonly purpose: string;
  readonly priority: number;
  readonly agentId?: string;
  /**
   * `ready`: to be claimed. `deferred`: not before `readyAt`. `leased`: a worker has it until
   * `readyAt`.
   */
  readonly state: 'ready' | 'deferred' | 'leased';
  readonly readyAt: number;
  /** Of the last claim; stays until the next one. */
  readonly lease?: string;
  readonly tries: number;
}

export interface KeyRow {
  readonly jobId: string;
  readonly fingerprint: string;
  readonly expiresAt: number;
}

export interface ScheduleRow {
  readonly name: string;
  readonly cron: string;
  readonly timezone: string;
  readonly nextAt: number;
  /** The job to create, as JSON. */
  readonly job: string;
}

/**
 * Synchronous storage for a `JobLedger`: no rules, only rows. Calls, results and events are texts that
 * it does not read. Order is the order of insertion.
 */
export interface JobTables {
  insert(job: Job, call: string): void;
  get(id: string): Job | undefined;
  update(job: Job): void;
  call(id: string): string | undefined;
  setCall(id: string, call: string): void;
  result(id: string): string | undefined;
  setResult(id: string, result: string): void;
  /** Newest first, older than the position `before`. */
  list(filter: {
    readonly principalId: string;
    readonly state: JobState | undefined;
    readonly capability: string | undefined;
    readonly limit: number;
    readonly before: number | undefined;
  }): readonly { readonly job: Job; readonly position: number }[];
  /** Jobs whose note `due` is set, oldest first. */
  due(limit: number): readonly Job[];
  addEvents(id: string, first: number, texts: readonly string[]): void;
  events(id: string, after: number, limit: number): readonly string[];
  key(principalId: string, key: string): KeyRow | undefined;
  setKey(principalId: string, key: string, row: KeyRow): void;
  dropKeys(expiredAt: number): void;
  entry(jobId: string, purpose: string): QueueEntry | undefined;
  putEntry(entry: QueueEntry): void;
  deleteEntry(jobId: string, purpose: string): void;
  /** Makes entries ready whose time has come: deferred ones, and leased ones that expired. */
  wake(now: number): void;
  /** Ready ones by priority, then age; without those of agents that have `perAgent` leased. */
  ready(purpose: string, limit: number, perAgent: number | undefined): readonly QueueEntry[];
  /** Jobs that ended before a moment, with no idempotency key that is still good. */
  endedBefore(moment: number, now: number, limit: number): readonly string[];
  delete(id: string): void;
  /** What the jobs of a principal take now: those that are not over, and the bytes of all. */
  usage(principalId: string): JobQuota;
  counts(): Readonly<Record<JobState, number>>;
  oldestReady(purpose: string): number | undefined;
  schedules(): readonly ScheduleRow[];
  dueSchedules(now: number): readonly ScheduleRow[];
  putSchedule(row: ScheduleRow): void;
  deleteSchedule(name: string): void;
}
