import {
  type Clock,
  isFinal,
  type Job,
  type JobState,
  normalName,
  type QueuePurpose,
  systemClock,
} from '@starloom/core';
import { JobLedger } from './ledger/job-ledger.ts';
import {
  AgentTurns,
  type JobTables,
  type KeyRow,
  type QueueEntry,
  type ScheduleRow,
  storedBytes,
  toCounts,
} from './ledger/job-tables.ts';
import { LedgerJobEngine, type RemoteLedger } from './ledger/ledger-engine.ts';

/** Jobs that live as long as the process. */
export function createMemoryJobEngine(
  clock: Clock = systemClock,
  tables: JobTables = new MemoryJobTables(),
): LedgerJobEngine {
  const ledger = new JobLedger(tables);
  return new LedgerJobEngine({ kind: 'memory', ledger: toRemote(ledger), clock });
}

/** The ledger of this thread, by promises. */
export function toRemote(ledger: JobLedger): RemoteLedger {
  return new Proxy(ledger, {
    get: (target, name: keyof JobLedger) => {
      const method = target[name] as (...args: unknown[]) => unknown;
      return async (...args: unknown[]) => method.apply(target, args);
    },
  }) as unknown as RemoteLedger;
}

interface Row {
  readonly position: number;
  job: Job;
  call: string;
  readonly events: string[];
  result?: string;
}

export class MemoryJobTables implements JobTables {
  #inserted = 0;
  #length = 0;
  readonly #rows = new Map<string, Row>();
  readonly #keys = new Map<string, KeyRow>();
  readonly #entries = new Map<string, QueueEntry>();
  readonly #schedules = new Map<string, ScheduleRow>();

  /** How many jobs there are. */
  get size(): number {
    return this.#rows.size;
  }

  /** Characters in their calls, events and results. */
  get length(): number {
    return this.#length;
  }

  insert(job: Job, call: string): void {
    this.#inserted += 1;
    this.#length += call.length;
    this.#rows.set(job.id, { position: this.#inserted, job, call, events: [] });
  }

  get(id: string): Job | undefined {
    return this.#rows.get(id)?.job;
  }

  update(job: Job): void {
    const row = this.#rows.get(job.id);
    if (row !== undefined) row.job = job;
  }

  call(id: string): string | undefined {
    return this.#rows.get(id)?.call;
  }

  setCall(id: string, call: string): void {
    const row = this.#rows.get(id);
    if (row === undefined) return;
    this.#length += call.length - row.call.length;
    row.call = call;
  }

  result(id: string): string | undefined {
    return this.#rows.get(id)?.result;
  }

  setResult(id: string, result: string): void {
    const row = this.#rows.get(id);
    if (row === undefined) return;
    this.#length += result.length - (row.result?.length ?? 0);
    row.result = result;
  }

  list(filter: Parameters<JobTables['list']>[0]) {
    const { principalId, state, capability, limit, before = Number.POSITIVE_INFINITY } = filter;
    const normal = capability === undefined ? undefined : normalName(capability);
    const isOf = (job: Job) => normal === undefined || normalName(job.capability) === normal;
    return [...this.#rows.values()]
      .map(({ job, position }) => ({ job, position }))
      .filter(({ job }) => principalId === undefined || job.principal_id === principalId)
      .filter(({ job }) => state === undefined || job.state === state)
      .filter(({ job }) => isOf(job))
      .filter(({ position }) => position < before)
      .reverse()
      .slice(0, limit);
  }

  due(limit: number): readonly Job[] {
    const jobs = Array.from(this.#rows.values(), ({ job }) => job);
    return jobs.filter(({ notes }) => notes?.due !== undefined).slice(0, limit);
  }

  addEvents(id: string, first: number, texts: readonly string[]): void {
    const events = this.#rows.get(id)?.events;
    if (events?.length !== first - 1) throw new Error(`event ${first} leaves a gap`);
    events.push(...texts);
    this.#length += lengthOf(texts);
  }

  events(id: string, after: number, limit: number): readonly string[] {
    return this.#rows.get(id)?.events.slice(after, after + limit) ?? [];
  }

  key(principalId: string, key: string): KeyRow | undefined {
    return this.#keys.get(JSON.stringify([principalId, key]));
  }

  setKey(principalId: string, key: string, row: KeyRow): void {
    this.#keys.set(JSON.stringify([principalId, key]), row);
  }

  dropKeys(expiredAt: number): void {
    for (const [key, { expiresAt }] of this.#keys) {
      if (expiresAt <= expiredAt) this.#keys.delete(key);
    }
  }

  entry(jobId: string, purpose: QueuePurpose): QueueEntry | undefined {
    return this.#entries.get(`${jobId} ${purpose}`);
  }

  putEntry(entry: QueueEntry): void {
    this.#entries.set(`${entry.jobId} ${entry.purpose}`, entry);
  }

  deleteEntry(jobId: string, purpose: QueuePurpose): void {
    this.#entries.delete(`${jobId} ${purpose}`);
  }

  wake(now: number): void {
    for (const entry of this.#entries.values()) {
      if (entry.readyAt <= now) this.putEntry({ ...entry, state: 'ready' });
    }
  }

  ready(purpose: QueuePurpose, limit: number, perAgent = Number.POSITIVE_INFINITY) {
    const all = [...this.#entries.values()].filter((entry) => entry.purpose === purpose);
    const running = new Map<string, number>();
    for (const { state, agentId } of all) {
      if (state !== 'leased' || agentId === undefined) continue;
      running.set(agentId, (running.get(agentId) ?? 0) + 1);
    }
    const order = [...this.#rows.keys()];
    const ready = all
      .filter(({ state }) => state === 'ready')
      .sort((a, b) => b.priority - a.priority || order.indexOf(a.jobId) - order.indexOf(b.jobId));
    const turns = new AgentTurns(running, perAgent, limit);
    turns.take(ready);
    return turns.chosen;
  }

  endedBefore(moment: number, now: number, limit: number): readonly string[] {
    const keyed = new Set(
      [...this.#keys.values()].filter(({ expiresAt }) => expiresAt > now).map(({ jobId }) => jobId),
    );
    return [...this.#rows.values()]
      .filter(({ job }) => isFinal(job.state) && (job.finished_at ?? 0) < moment)
      .filter(({ job }) => !keyed.has(job.id) && !this.entry(job.id, 'webhook'))
      .slice(0, limit)
      .map(({ job }) => job.id);
  }

  dropKeysOf(jobId: string): void {
    for (const [key, row] of this.#keys) if (row.jobId === jobId) this.#keys.delete(key);
  }

  delete(id: string): void {
    const row = this.#rows.get(id);
    if (row === undefined) return;
    this.#length -= row.call.length + (row.result?.length ?? 0) + lengthOf(row.events);
    this.#rows.delete(id);
  }

  usage(principalId: string) {
    const own = [...this.#rows.values()].filter(({ job }) => job.principal_id === principalId);
    const texts = own.flatMap(({ call, result = '', events }) => [call, result, ...events]);
    const bytes = texts.reduce((sum, text) => sum + storedBytes(text), 0);
    return { jobs: own.filter(({ job }) => !isFinal(job.state)).length, bytes };
  }

  counts(): Readonly<Record<JobState, number>> {
    const numbers = new Map<string, number>();
    for (const { job } of this.#rows.values()) {
      numbers.set(job.state, (numbers.get(job.state) ?? 0) + 1);
    }
    return toCounts(numbers);
  }

  oldestReady(purpose: QueuePurpose): number | undefined {
    const times = [...this.#entries.values()]
      .filter((entry) => entry.purpose === purpose && entry.state === 'ready')
      .map(({ readyAt }) => readyAt);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  schedules(): readonly ScheduleRow[] {
    return [...this.#schedules.values()];
  }

  dueSchedules(now: number): readonly ScheduleRow[] {
    return this.schedules().filter(({ nextAt }) => nextAt <= now);
  }

  putSchedule(row: ScheduleRow): void {
    this.#schedules.set(row.name, row);
  }

  deleteSchedule(name: string): void {
    this.#schedules.delete(name);
  }
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((length, text) => length + text.length, 0);
}
