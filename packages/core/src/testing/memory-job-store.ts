import { type Clock, systemClock } from '../clock.ts';
import type { FabricEvent } from '../events.ts';
import type { Claim, Job, JobOutcome, JobStore, NewJob } from '../ports/jobs.ts';

interface Row {
  job: Job;
  events: FabricEvent[];
  lease: { token: string; until: number } | undefined;
}

/** Jobs that live as long as the process. */
export class MemoryJobStore implements JobStore {
  readonly #rows = new Map<string, Row>();
  readonly #byKey = new Map<string, string>();
  readonly #clock: Clock;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  async create({ envelope, principalId, idempotencyKey }: NewJob) {
    const key = idempotencyKey && JSON.stringify([principalId, idempotencyKey]);
    const known = key && this.#rows.get(this.#byKey.get(key) ?? '');
    if (known) return { job: known.job, created: false };
    const now = this.#clock.now();
    const job: Job = {
      id: crypto.randomUUID(),
      principal_id: principalId,
      state: 'queued',
      envelope,
      attempt: 0,
      cancel_requested: false,
      created_at: now,
      updated_at: now,
    };
    this.#rows.set(job.id, { job, events: [], lease: undefined });
    if (key) this.#byKey.set(key, job.id);
    return { job, created: true };
  }

  async get(id: string) {
    return this.#rows.get(id)?.job;
  }

  async list({ principalId, state, limit = 100 }: Parameters<JobStore['list']>[0]) {
    return [...this.#rows.values()]
      .map(({ job }) => job)
      .filter((job) => job.principal_id === principalId && (!state || job.state === state))
      .reverse()
      .slice(0, limit);
  }

  async claim({ leaseMs, limit }: Parameters<JobStore['claim']>[0]) {
    const now = this.#clock.now();
    const free = [...this.#rows.values()].filter(
      ({ job, lease }) =>
        job.state === 'queued' || (job.state === 'running' && lease && lease.until <= now),
    );
    return free.slice(0, limit).map((row): Claim => {
      const token = crypto.randomUUID();
      row.lease = { token, until: now + leaseMs };
      this.#update(row, { state: 'running', attempt: row.job.attempt + 1 });
      return { job: row.job, lease: token };
    });
  }

  async renew(claim: Claim, leaseMs: number) {
    const row = this.#leased(claim);
    if (!row) return undefined;
    row.lease = { token: claim.lease, until: this.#clock.now() + leaseMs };
    return { cancelRequested: row.job.cancel_requested };
  }

  async append(claim: Claim, events: readonly FabricEvent[]) {
    const row = this.#leased(claim);
    row?.events.push(...events);
    return row !== undefined;
  }

  async events(id: string, { after, limit }: Parameters<JobStore['events']>[1]) {
    const events = this.#rows.get(id)?.events.slice(after, after + limit) ?? [];
    return { events, cursor: after + events.length };
  }

  async finish(claim: Claim, outcome: JobOutcome) {
    const row = this.#leased(claim);
    if (!row) return false;
    row.lease = undefined;
    this.#update(row, { state: outcome.state, outcome });
    return true;
  }

  async requestCancel(id: string) {
    const row = this.#rows.get(id);
    if (!row) return undefined;
    if (row.job.state === 'queued') {
      const error = {
        code: 'CANCELLED',
        message: 'Cancelled before it began',
        details: {},
      } as const;
      this.#update(row, { state: 'cancelled', outcome: { state: 'cancelled', error } });
    } else if (row.lease) {
      this.#update(row, { cancel_requested: true });
    }
    return row.job;
  }

  async close(): Promise<void> {}

  #leased({ job, lease }: Claim): Row | undefined {
    const row = this.#rows.get(job.id);
    const live = row?.lease?.token === lease && row.lease.until > this.#clock.now();
    return live ? row : undefined;
  }

  #update(row: Row, change: Partial<Job>): void {
    row.job = { ...row.job, ...change, updated_at: this.#clock.now() };
  }
}
