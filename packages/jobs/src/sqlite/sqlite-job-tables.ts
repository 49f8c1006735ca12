// The rows of a `JobLedger` in one SQLite database. It opens no transactions: one batch of the thread
// is one.

import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import {
  isFinal,
  type Job,
  type JobFilter,
  type JobQuota,
  type JobState,
  normalName,
  type QueuePurpose,
} from '@starloom/core';
import {
  AgentTurns,
  type KeyRow,
  type QueueEntry,
  type ScheduleRow,
  type StepTables,
  storedBytes,
  toCounts,
  toEntry,
  toJob,
  toKeyRow,
  toNumbers,
  toSchedule,
} from '../ledger/job-tables.ts';
import { IS_DUE, RECORD_BYTES } from './schema.ts';

type Row = Record<string, SQLOutputValue>;

export class SqliteJobTables implements StepTables {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
    database.function('bytes_of', { deterministic: true }, (text) => storedBytes(String(text)));
  }

  insert(job: Job, call: string): void {
    this.#run(
      'INSERT INTO job (id, principal, state, capability, record) VALUES (?, ?, ?, ?, ?)',
      job.id,
      job.principal_id,
      job.state,
      job.capability,
      JSON.stringify(job),
    );
    this.#run(`INSERT INTO content (id, kind, text) VALUES (?, 'call', ?)`, job.id, call);
    this.#count(job.state, 1);
    const grown = `INSERT INTO usage (principal, jobs, bytes) VALUES (?, 1, ?)
      ON CONFLICT (principal) DO UPDATE SET jobs = jobs + 1, bytes = bytes + excluded.bytes`;
    this.#run(grown, job.principal_id, RECORD_BYTES + storedBytes(call));
  }

  get(id: string): Job | undefined {
    const row = this.#get('SELECT record FROM job WHERE id = ?', id);
    return row && toJob(row);
  }

  update(job: Job): void {
    const before = this.#get('SELECT state FROM job WHERE id = ?', job.id);
    if (before === undefined) return;
    this.#run(
      'UPDATE job SET state = ?, finished_at = ?, record = ? WHERE id = ?',
      job.state,
      job.finished_at ?? null,
      JSON.stringify(job),
      job.id,
    );
    if (before.state === job.state) return;
    this.#count(before.state as JobState, -1);
    this.#count(job.state, 1);
    if (!isFinal(job.state)) return;
    this.#run('UPDATE usage SET jobs = jobs - 1 WHERE principal = ?', job.principal_id);
  }

  call(id: string): string | undefined {
    return this.#content(id, 'call');
  }

  setCall(id: string, call: string): void {
    this.#grow(id, storedBytes(call) - storedBytes(this.call(id) ?? ''));
    this.#run(`UPDATE content SET text = ? WHERE id = ? AND kind = 'call'`, call, id);
  }

  result(id: string): string | undefined {
    return this.#content(id, 'result');
  }

  setResult(id: string, result: string): void {
    this.#run(`INSERT INTO content (id, kind, text) VALUES (?, 'result', ?)`, id, result);
    this.#grow(id, storedBytes(result));
  }

  /** Newest first, in the order of insertion. */
  list(filter: Omit<JobFilter, 'cursor'>, before = Number.MAX_SAFE_INTEGER) {
    const { principalId, state, capability, limit } = filter;
    const conditions = ['position < ?'];
    const values: (string | number)[] = [before];
    if (principalId !== undefined) {
      conditions.push('principal = ?');
      values.push(principalId);
    }
    if (state !== undefined) {
      conditions.push('state = ?');
      values.push(state);
    }
    if (capability !== undefined) {
      conditions.push(`replace(capability, ':', '.') = ?`);
      values.push(normalName(capability));
    }
    const where = conditions.join(' AND ');
    const sql = `SELECT position, record FROM job WHERE ${where} ORDER BY position DESC LIMIT ?`;
    return this.#all(sql, ...values, limit).map((row) => ({
      position: Number(row.position),
      job: toJob(row),
    }));
  }

  /** Jobs whose note `due` is set, oldest first. */
  due(limit: number): readonly Job[] {
    const sql = `SELECT record FROM job WHERE ${IS_DUE}
      AND json_extract(record, '$.notes.due') IS NOT NULL ORDER BY position LIMIT ?`;
    return this.#all(sql, limit).map(toJob);
  }

  addEvents(id: string, first: number, texts: readonly string[]): void {
    const position = this.#position(id);
    const sql = 'INSERT INTO event (position, number, text) VALUES (?, ?, ?)';
    for (const [index, text] of texts.entries()) this.#run(sql, position, first + index, text);
    this.#grow(
      id,
      texts.reduce((sum, text) => sum + storedBytes(text), 0),
    );
  }

  events(id: string, after: number, limit: number): readonly string[] {
    const sql = `SELECT text FROM event WHERE position = (SELECT position FROM job WHERE id = ?)
      AND number > ? ORDER BY number LIMIT ?`;
    return this.#all(sql, id, after, limit).map(({ text }) => String(text));
  }

  key(principalId: string, key: string): KeyRow | undefined {
    const sql = 'SELECT * FROM idempotency WHERE principal = ? AND key = ?';
    const row = this.#get(sql, principalId, key);
    return row && toKeyRow(row);
  }

  setKey(principalId: string, key: string, { jobId, fingerprint, expiresAt }: KeyRow): void {
    const sql = `INSERT OR REPLACE INTO idempotency
      (principal, key, job_id, fingerprint, expires_at) VALUES (?, ?, ?, ?, ?)`;
    this.#run(sql, principalId, key, jobId, fingerprint, expiresAt);
  }

  dropKeys(expiredAt: number): void {
    this.#run('DELETE FROM idempotency WHERE expires_at <= ?', expiredAt);
  }

  dropKeysOf(jobId: string): void {
    this.#run('DELETE FROM idempotency WHERE job_id = ?', jobId);
  }

  entry(jobId: string, purpose: QueuePurpose): QueueEntry | undefined {
    const row = this.#get('SELECT * FROM queue WHERE job_id = ? AND purpose = ?', jobId, purpose);
    return row && toEntry(row);
  }

  putEntry(entry: QueueEntry): void {
    const { jobId, purpose, priority, agentId, state, readyAt, lease, tries } = entry;
    const sql = `INSERT OR REPLACE INTO queue
      (position, purpose, job_id, priority, agent, state, ready_at, lease, tries)
      VALUES ((SELECT position FROM job WHERE id = ?), ?, ?, ?, ?, ?, ?, ?, ?)`;
    const values = [jobId, purpose, jobId, priority, agentId ?? null, state];
    this.#run(sql, ...values, Math.ceil(readyAt), lease ?? null, tries);
  }

  deleteEntry(jobId: string, purpose: QueuePurpose): void {
    this.#run('DELETE FROM queue WHERE job_id = ? AND purpose = ?', jobId, purpose);
  }

  wake(now: number): void {
    this.#run(`UPDATE queue SET state = 'ready' WHERE state <> 'ready' AND ready_at <= ?`, now);
  }

  ready(purpose: QueuePurpose, limit: number, perAgent: number | undefined): readonly QueueEntry[] {
    if (perAgent === undefined) return this.#readyWithout([], purpose, limit);
    const leased = `SELECT agent, count(*) AS n FROM queue
      WHERE purpose = ? AND state = 'leased' AND agent IS NOT NULL GROUP BY agent`;
    const running = toNumbers(this.#all(leased, purpose), 'agent');
    const turns = new AgentTurns(running, perAgent, limit);
    while (turns.take(this.#readyWithout(turns.full, purpose, limit)));
    return turns.chosen;
  }

  /** Those with no idempotency key that is still good. */
  endedBefore(moment: number, now: number, limit: number): readonly string[] {
    const sql = `SELECT id FROM job WHERE finished_at < ?
      AND NOT EXISTS (SELECT 1 FROM idempotency WHERE job_id = job.id AND expires_at > ?)
      AND NOT EXISTS (SELECT 1 FROM queue WHERE job_id = job.id)
      ORDER BY finished_at LIMIT ?`;
    return this.#all(sql, moment, now, limit).map(({ id }) => String(id));
  }

  delete(id: string): void {
    const position = this.#position(id);
    const job = this.get(id);
    const kept = `SELECT (SELECT coalesce(sum(bytes_of(text)), 0) FROM event WHERE position = ?)
      + (SELECT coalesce(sum(bytes_of(text)), 0) FROM content WHERE id = ?) AS bytes`;
    this.#grow(id, -RECORD_BYTES - Number(this.#get(kept, position, id)?.bytes));
    this.#run('DELETE FROM event WHERE position = ?', position);
    this.#run('DELETE FROM content WHERE id = ?', id);
    this.#run('DELETE FROM job WHERE id = ?', id);
    if (job !== undefined) this.#count(job.state, -1);
  }

  usage(principalId: string) {
    const row = this.#get('SELECT jobs, bytes FROM usage WHERE principal = ?', principalId);
    return { jobs: Number(row?.jobs ?? 0), bytes: Number(row?.bytes ?? 0) };
  }

  /** What the jobs of all principals take, those that are over too. */
  total(): JobQuota {
    const row = this.#get(`SELECT (SELECT coalesce(sum(jobs), 0) FROM counter) AS jobs,
      (SELECT coalesce(sum(bytes), 0) FROM usage) AS bytes`);
    return { jobs: Number(row?.jobs), bytes: Number(row?.bytes) };
  }

  counts(): Readonly<Record<JobState, number>> {
    return toCounts(toNumbers(this.#all('SELECT state, jobs AS n FROM counter'), 'state'));
  }

  oldestReady(purpose: QueuePurpose): number | undefined {
    const sql = `SELECT min(ready_at) AS at FROM queue WHERE purpose = ? AND state = 'ready'`;
    const at = this.#get(sql, purpose)?.at;
    return at === null || at === undefined ? undefined : Number(at);
  }

  schedules(): readonly ScheduleRow[] {
    return this.#all('SELECT * FROM schedule ORDER BY name').map(toSchedule);
  }

  dueSchedules(now: number): readonly ScheduleRow[] {
    return this.#all('SELECT * FROM schedule WHERE next_at <= ?', now).map(toSchedule);
  }

  putSchedule({ name, cron, timezone, nextAt, job }: ScheduleRow): void {
    const sql = `INSERT OR REPLACE INTO schedule (name, cron, timezone, next_at, job)
      VALUES (?, ?, ?, ?, ?)`;
    this.#run(sql, name, cron, timezone, nextAt, job);
  }

  deleteSchedule(name: string): void {
    this.#run('DELETE FROM schedule WHERE name = ?', name);
  }

  #readyWithout(agents: readonly string[], purpose: QueuePurpose, limit: number): QueueEntry[] {
    const without =
      agents.length === 0
        ? ''
        : 'AND (agent IS NULL OR agent NOT IN (SELECT value FROM json_each(?)))';
    const sql = `SELECT * FROM queue WHERE purpose = ? AND state = 'ready' ${without}
      ORDER BY priority DESC, position LIMIT ?`;
    const values = agents.length === 0 ? [purpose] : [purpose, JSON.stringify(agents)];
    return this.#all(sql, ...values, limit).map(toEntry);
  }

  #content(id: string, kind: 'call' | 'result'): string | undefined {
    const row = this.#get('SELECT text FROM content WHERE id = ? AND kind = ?', id, kind);
    return row && String(row.text);
  }

  #position(id: string): number {
    return Number(this.#get('SELECT position FROM job WHERE id = ?', id)?.position);
  }

  #grow(id: string, bytes: number): void {
    const sql = `UPDATE usage SET bytes = bytes + ?
      WHERE principal = (SELECT principal FROM job WHERE id = ?)`;
    this.#run(sql, bytes, id);
  }

  /** A table of counts, since to count a million rows takes long. */
  #count(state: JobState, change: 1 | -1): void {
    const sql = `INSERT INTO counter (state, jobs) VALUES (?, ?)
      ON CONFLICT (state) DO UPDATE SET jobs = jobs + excluded.jobs`;
    this.#run(sql, state, change);
  }

  #run(sql: string, ...values: (string | number | null)[]): void {
    this.#statement(sql).run(...values);
  }

  #get(sql: string, ...values: (string | number | null)[]): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined;
  }

  #all(sql: string, ...values: (string | number | null)[]): Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}
