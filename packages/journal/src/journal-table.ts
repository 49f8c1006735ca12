// What an engine keeps: one row for each of the newest calls, and sums by day. The statements that read are
// the same for SQLite and Postgres; `?` stands for a value.

import type {
  JournalCall,
  JournalFilter,
  JournalPageOptions,
  JournalRate,
  UsageKey,
  UsageQuery,
  UsageRow,
} from '@starloom/core';
import { type CallBlock, fromBlock } from './call-block.ts';

export type Value = string | number | null;
export type Row = Readonly<Record<string, unknown>>;

export interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** Of a day, in the order of `USAGE_COLUMNS`. */
export type UsageSum = readonly Value[];

export interface JournalTable {
  readonly kind: 'sqlite' | 'postgres' | 'memory';
  /** How often other gateways may have written; undefined when no other gateway can. */
  readonly pollMs?: number;
  /** All or nothing. Calls with the ids of others take their place, as the newest. */
  append(blocks: readonly CallBlock[], sums: readonly UsageSum[]): Promise<void>;
  /** Sees everything that was appended. */
  query(statement: Statement): Promise<readonly Row[]>;
  /** How many calls are kept, without the work that a query may need. */
  count(): Promise<number>;
  /** Removes rows so that nothing of them stays in the file. */
  remove(statements: readonly Statement[]): Promise<void>;
  close(): Promise<void>;
}

export const CALL_COLUMNS = [
  'trace_key',
  'trace_id',
  'span_id',
  'principal',
  'behalf',
  'agent',
  'capability',
  'face',
  'code',
  'began',
  'ended',
  'bucket',
  'gateway',
  'record',
] as const;

export const USAGE_KEY_COLUMNS = ['day', 'principal', 'agent', 'tool'] as const;
export const USAGE_SUM_COLUMNS = [
  'calls',
  'failed',
  'ms',
  'cost',
  'bytes_in',
  'bytes_out',
] as const;
export const USAGE_COLUMNS = [...USAGE_KEY_COLUMNS, ...USAGE_SUM_COLUMNS] as const;

export const DAY_MS = 86_400_000;
/** How long the sums of a day are kept. */
const MAX_USAGE_DAYS = 400;
const BUCKETS_PER_DOUBLING = 8;
const LEAST_MS = 0.01;

/** In the order of `CALL_COLUMNS`. */
export function rowsOf({ text }: Pick<CallBlock, 'text'>): readonly (readonly Value[])[] {
  return fromBlock(text).map(toRow);
}

function toRow(call: JournalCall): readonly Value[] {
  const { ms, code, began_at, ended_at } = call;
  return [
    traceKey(call.trace_id),
    call.trace_id,
    call.span_id,
    textOf(call.principal),
    textOf(call.on_behalf_of ?? null),
    textOf(call.agent_id),
    textOf(call.capability),
    call.face,
    code,
    Math.floor(began_at),
    ended_at === null ? null : Math.floor(ended_at),
    ms === null ? null : toBucket(ms),
    textOf(call.gateway ?? null),
    JSON.stringify(call),
  ];
}

function toBucket(ms: number): number {
  return Math.round(Math.log2(Math.max(ms, LEAST_MS)) * BUCKETS_PER_DOUBLING);
}

/** The first 48 bits, for indexes. */
function traceKey(traceId: string): number {
  return Number.parseInt(traceId.slice(0, 8) + traceId.slice(9, 13), 16) || 0;
}

export function fromRow({ record }: Row): JournalCall {
  return JSON.parse(String(record));
}

/** Postgres takes no NUL in a text, and no half of a pair. */
export function textOf(text: string | null): string | null {
  return text === null ? null : text.replaceAll('\0', '\ufffd').toWellFormed();
}

/** Sums of earlier days are removed. Days of the future, after a jump of the clock, remove nothing. */
export function firstKeptDay(sums: readonly UsageSum[]): number {
  const today = Math.floor(Date.now() / DAY_MS);
  return Math.min(Number(sums[0]?.[0] ?? 0), today) - MAX_USAGE_DAYS;
}

export function toList(
  filter: JournalFilter,
  { limit, before, after }: JournalPageOptions,
): Statement {
  const where = new Conditions();
  if (before !== undefined) where.add('revision < ?', before);
  if (after !== undefined) where.add('revision > ?', after);
  where.filter(filter);
  const order = after === undefined ? 'DESC' : 'ASC';
  const sql = `SELECT revision, record FROM call ${where} ORDER BY revision ${order} LIMIT ?`;
  return { sql, values: [...where.values, limit] };
}

export const NEWEST: Statement = { sql: 'SELECT max(revision) AS n FROM call', values: [] };

export function toTrace(traceId: string, principal: string | undefined): Statement {
  const where = new Conditions().filter({ trace_id: traceId, principal });
  return { sql: `SELECT record FROM call ${where} ORDER BY began, revision`, values: where.values };
}

const USAGE_COLUMN_OF = { caller: 'principal', agent: 'agent', tool: 'tool', day: 'day' } as const;

export function toUsage({ by, principal, since, until }: UsageQuery): Statement {
  const where = new Conditions();
  if (principal !== undefined) where.add('principal = ?', principal);
  if (since !== undefined) where.add('day >= ?', Math.floor(since / DAY_MS));
  if (until !== undefined) where.add('day < ?', Math.ceil(until / DAY_MS));
  const key = USAGE_COLUMN_OF[by];
  const sums = USAGE_SUM_COLUMNS.map((column) => `sum(${column}) AS ${column}`).join(', ');
  const order = by === 'day' ? 'key DESC' : 'calls DESC, key';
  const sql = `SELECT ${key} AS key, ${sums} FROM usage ${where} GROUP BY ${key} ORDER BY ${order}`;
  return { sql, values: where.values };
}

export function toUsageRow(row: Row, by: UsageKey): UsageRow {
  const day = () => new Date(Number(row.key) * DAY_MS).toISOString().split('T', 1)[0] ?? '';
  const [calls, failed, ms, cost, bytes_in, bytes_out] = USAGE_SUM_COLUMNS.map((column) =>
    Number(row[column]),
  ) as [number, number, number, number, number, number];
  const key = by === 'day' ? day() : String(row.key);
  return { key, calls, failed, ms, cost, bytes_in, bytes_out };
}

export function toBuckets(since: number, until: number, principal: string | undefined): Statement {
  const where = new Conditions().add('ended >= ?', since).add('ended <= ?', until);
  if (principal !== undefined) where.add('principal = ?', principal);
  const sql = `SELECT agent, code, bucket, count(*) AS n FROM call ${where} GROUP BY agent, code, bucket`;
  return { sql, values: where.values };
}

export interface Bucket {
  readonly agent: string | null;
  readonly code: string | null;
  readonly bucket: number;
  readonly n: number;
}

export function toRate(buckets: readonly Bucket[], windowMs: number): JournalRate {
  const sorted = buckets.toSorted((a, b) => a.bucket - b.bucket);
  const calls = sorted.reduce((sum, { n }) => sum + n, 0);
  const failed = sorted.reduce((sum, { n, code }) => sum + (code === null ? 0 : n), 0);
  const percentile = (share: number): number | null => {
    let left = share * calls;
    for (const { bucket, n } of sorted) {
      left -= n;
      if (left <= 0) return Math.round(2 ** (bucket / BUCKETS_PER_DOUBLING) * 100) / 100;
    }
    return null;
  };
  const per_second = Math.round((calls / windowMs) * 100_000) / 100;
  return {
    calls,
    failed,
    per_second,
    p50: percentile(0.5),
    p95: percentile(0.95),
    p99: percentile(0.99),
  };
}

/** What is kept of a principal: its calls, and those that others made on its behalf. */
export function toErase(principal: string): readonly Statement[] {
  const values = [principal, principal];
  return [
    { sql: 'DELETE FROM call WHERE principal = ? OR behalf = ?', values },
    { sql: 'DELETE FROM usage WHERE principal = ?', values: [principal] },
  ];
}

export function toCount(principal: string): Statement {
  const sql = 'SELECT count(*) AS n FROM call WHERE principal = ? OR behalf = ?';
  return { sql, values: [principal, principal] };
}

/** Calls that a gateway left running when it ended. */
export function toOrphans(gateway: string): Statement {
  return {
    sql: 'SELECT record FROM call WHERE gateway = ? AND ended IS NULL',
    values: [textOf(gateway)],
  };
}

class Conditions {
  readonly values: Value[] = [];
  readonly #texts: string[] = [];

  add(text: string, ...values: Value[]): this {
    this.#texts.push(text);
    this.values.push(...values);
    return this;
  }

  filter({ principal, agent_id, capability, face, ...rest }: JournalFilter): this {
    const columns = { principal, agent: agent_id, capability, face, trace_id: rest.trace_id };
    if (rest.trace_id !== undefined)
      this.add(
        'revision IN (SELECT revision FROM call WHERE trace_key = ?)',
        traceKey(rest.trace_id),
      );
    for (const [column, value] of Object.entries({ ...columns, code: rest.code })) {
      if (value !== undefined) this.add(`${column} = ?`, textOf(value));
    }
    if (rest.status === 'running') this.add('ended IS NULL');
    if (rest.status === 'ok') this.add('ended IS NOT NULL AND code IS NULL');
    if (rest.status === 'failed') this.add('code IS NOT NULL');
    if (rest.since !== undefined) this.add('began >= ?', rest.since);
    if (rest.until !== undefined) this.add('began < ?', rest.until);
    if (rest.min_ms !== undefined) this.add('bucket >= ?', toBucket(rest.min_ms));
    if (rest.fallback) this.add(`record LIKE '%"fallback":true%'`);
    for (const text of [rest.text ?? []].flat()) {
      const within = JSON.stringify(text).slice(1, -1).toLowerCase();
      this.add(`lower(record) LIKE ? ESCAPE '~'`, `%${within.replace(/[%_~]/g, '~$&')}%`);
    }
    return this;
  }

  toString(): string {
    return this.#texts.length === 0 ? '' : `WHERE ${this.#texts.join(' AND ')}`;
  }
}
