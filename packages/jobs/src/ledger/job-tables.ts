import {
  JOB_STATES,
  type Job,
  type JobQuota,
  type JobState,
  type QueuePurpose,
} from '@starloom/core';

/** A place in the queue. A job has at most one per purpose; one that is over has none to run. */
export interface QueueEntry {
  readonly jobId: string;
  readonly purpose: QueuePurpose;
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

/** Rows for `JobSteps`: no rules. Calls, results and events are texts that they do not read. */
export interface StepTables {
  insert(job: Job, call: string): void;
  get(id: string): Job | undefined;
  update(job: Job): void;
  call(id: string): string | undefined;
  setCall(id: string, call: string): void;
  result(id: string): string | undefined;
  setResult(id: string, result: string): void;
  addEvents(id: string, first: number, texts: readonly string[]): void;
  key(principalId: string, key: string): KeyRow | undefined;
  setKey(principalId: string, key: string, row: KeyRow): void;
  entry(jobId: string, purpose: QueuePurpose): QueueEntry | undefined;
  putEntry(entry: QueueEntry): void;
  deleteEntry(jobId: string, purpose: QueuePurpose): void;
  /** Makes entries ready whose time has come: deferred ones, and leased ones that expired. */
  wake(now: number): void;
  /** Ready ones by priority, then age; without those of agents that have `perAgent` leased. */
  ready(purpose: QueuePurpose, limit: number, perAgent: number | undefined): readonly QueueEntry[];
  /** What the jobs of a principal take now: those that are not over, and the bytes of all. */
  usage(principalId: string): JobQuota;
  schedules(): readonly ScheduleRow[];
  dueSchedules(now: number): readonly ScheduleRow[];
  putSchedule(row: ScheduleRow): void;
  deleteSchedule(name: string): void;
}

/** Chooses entries in their order, so that no agent has more than it may. */
export class AgentTurns {
  readonly #running: Map<string, number>;
  readonly #perAgent: number;
  readonly #limit: number;
  readonly #chosen = new Map<string, QueueEntry>();

  constructor(
    running: Map<string, number>,
    perAgent: number | undefined = Number.POSITIVE_INFINITY,
    limit: number,
  ) {
    this.#running = running;
    this.#perAgent = perAgent;
    this.#limit = limit;
  }

  get chosen(): readonly QueueEntry[] {
    return [...this.#chosen.values()];
  }

  get full(): readonly string[] {
    return [...this.#running].filter(([, n]) => n >= this.#perAgent).map(([agent]) => agent);
  }

  /** True when another page is needed: this one may hide jobs of other agents behind those of a full one. */
  take(page: readonly QueueEntry[]): boolean {
    const before = this.#chosen.size;
    for (const entry of page) {
      if (this.#chosen.size === this.#limit) return false;
      const { agentId } = entry;
      if (this.#chosen.has(entry.jobId)) continue;
      if (agentId !== undefined) {
        const n = this.#running.get(agentId) ?? 0;
        if (n >= this.#perAgent) continue;
        this.#running.set(agentId, n + 1);
      }
      this.#chosen.set(entry.jobId, entry);
    }
    const isFull = this.#chosen.size === this.#limit;
    return !isFull && this.#chosen.size > before && page.length >= this.#limit;
  }
}

// How calls, events and results are stored: as the text itself, or as the name of a file that holds it.
// The name begins with a character that no JSON begins with, and ends with the size of the file.

export const FILE_MARK = '\u0001file:';
/** In place of a call that is not kept. */
export const NO_CALL = 'null';

/** So small a call of a cancelled job stays, for a retry. */
export const SMALL_CALL_BYTES = 4 * 1024;

const utf8 = new TextEncoder();

/** What a text takes, wherever it is. */
export function storedBytes(stored: string): number {
  if (!stored.startsWith(FILE_MARK)) return utf8.encode(stored).length;
  return Number(/#(\d+)$/.exec(stored)?.[1] ?? 0);
}

// Rows of both databases have these columns.

type Row = Readonly<Record<string, unknown>>;

export function toJob({ record }: Row): Job {
  return JSON.parse(String(record));
}

export function toEntry(row: Row): QueueEntry {
  return {
    jobId: String(row.job_id),
    purpose: row.purpose as QueuePurpose,
    priority: Number(row.priority),
    ...(row.agent !== null && { agentId: String(row.agent) }),
    state: row.state as QueueEntry['state'],
    readyAt: Number(row.ready_at),
    ...(row.lease !== null && { lease: String(row.lease) }),
    tries: Number(row.tries),
  };
}

export function toKeyRow({ job_id, fingerprint, expires_at }: Row): KeyRow {
  return {
    jobId: String(job_id),
    fingerprint: String(fingerprint),
    expiresAt: Number(expires_at),
  };
}

export function toSchedule({ name, cron, timezone, next_at, job }: Row): ScheduleRow {
  return {
    name: String(name),
    cron: String(cron),
    timezone: String(timezone),
    nextAt: Number(next_at),
    job: String(job),
  };
}

/** Rows with a word and a number, such as `{agent, n}`. */
export function toNumbers(rows: readonly Row[], word: string): Map<string, number> {
  return new Map(rows.map((row) => [String(row[word]), Number(row.n)]));
}

/** All states, those without jobs too. */
export function toCounts(numbers: ReadonlyMap<string, number>): Readonly<Record<JobState, number>> {
  const counts = JOB_STATES.map((state) => [state, numbers.get(state) ?? 0]);
  return Object.fromEntries(counts);
}
