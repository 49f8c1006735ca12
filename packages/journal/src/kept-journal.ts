// The journal over a table: what was written is found again, counted and followed.

import {
  type Clock,
  FabricError,
  type Journal,
  type JournalCall,
  type JournalCheck,
  type JournalFilter,
  type JournalPage,
  type JournalPageOptions,
  type JournalRates,
  type Log,
  MAX_JOURNAL_PAGE,
  type UsageQuery,
  type UsageRow,
} from '@starloom/core';
import {
  type Bucket,
  fromRow,
  type JournalTable,
  NEWEST,
  toBuckets,
  toCount,
  toErase,
  toList,
  toOrphans,
  toRate,
  toTrace,
  toUsage,
  toUsageRow,
} from './journal-table.ts';
import { JournalWriter } from './journal-writer.ts';
import { failure } from './reasons.ts';

interface KeptJournalOptions {
  readonly table: JournalTable;
  readonly gateway: string;
  readonly clock: Clock;
  readonly log: Log;
}

const MAX_FOLLOWED = 1_000;
/** The clock of another gateway may be ahead. */
const AHEAD_MS = 60_000;

export class KeptJournal implements Journal {
  readonly kind: Journal['kind'];
  readonly #options: KeptJournalOptions;
  readonly #writer: JournalWriter;
  readonly write: Journal['write'];

  private constructor(options: KeptJournalOptions) {
    const { table, log } = options;
    this.kind = table.kind;
    this.#options = options;
    this.#writer = new JournalWriter(table, log);
    this.write = this.#writer.write;
  }

  static async open(options: KeptJournalOptions): Promise<KeptJournal> {
    const journal = new KeptJournal(options);
    await journal.#closeOrphans();
    return journal;
  }

  flushed(): Promise<void> {
    return this.#writer.flushed();
  }

  async list(filter: JournalFilter, page: JournalPageOptions): Promise<JournalPage> {
    const { before, after } = page;
    const limit = Math.min(page.limit, MAX_JOURNAL_PAGE);
    const newest = await this.#newest();
    const rows = await this.#query(toList(filter, { limit, before, after }));
    const calls = rows.map(fromRow);
    const isFull = rows.length === limit;
    const last = Number(rows.at(-1)?.revision);
    if (after !== undefined) {
      return { calls, cursor: isFull ? last : Math.max(newest, after, last || 0) };
    }
    return { calls, ...(isFull && { next: last }), cursor: newest };
  }

  async get(traceId: string, principal?: string): Promise<readonly JournalCall[]> {
    return (await this.#query(toTrace(traceId, principal))).map(fromRow);
  }

  async *follow(
    filter: JournalFilter,
    { signal, after }: { readonly signal: AbortSignal; readonly after?: number | undefined },
  ): AsyncIterable<JournalCall> {
    let cursor = after ?? (await this.#newest());
    this.#writer.followers += 1;
    try {
      while (!signal.aborted && !this.#writer.isClosed) {
        const written = this.#writer.written;
        const page = await this.list(filter, { limit: MAX_FOLLOWED, after: cursor });
        yield* page.calls;
        const isCurrent = page.calls.length < MAX_FOLLOWED;
        cursor = page.cursor;
        if (isCurrent) await settles(written, signal, this.#options.table.pollMs);
      }
    } finally {
      this.#writer.followers -= 1;
    }
  }

  async usage(query: UsageQuery): Promise<readonly UsageRow[]> {
    return (await this.#query(toUsage(query))).map((row) => toUsageRow(row, query.by));
  }

  async rates(
    windowsMs: readonly number[],
    { principal }: { readonly principal?: string | undefined } = {},
  ): Promise<readonly JournalRates[]> {
    return await Promise.all(windowsMs.map((windowMs) => this.#rate(windowMs, principal)));
  }

  async erase(principal: string): Promise<number> {
    await this.flushed();
    const [row] = await this.#query(toCount(principal));
    await this.#options.table.remove(toErase(principal));
    return Number(row?.n);
  }

  async check(): Promise<JournalCheck> {
    if (this.#writer.problem) throw this.#writer.problem;
    if (this.#writer.isClosed) throw failure('journal_unavailable/closed');
    return { calls: await this.#options.table.count(), lost: this.#writer.lost };
  }

  async close(): Promise<void> {
    if (this.#writer.isClosed) return;
    await this.#writer.close();
    await this.#options.table.close();
  }

  async #query(statement: Parameters<JournalTable['query']>[0]) {
    if (this.#writer.isClosed) throw failure('journal_unavailable/closed');
    return await this.#options.table.query(statement);
  }

  async #newest(): Promise<number> {
    const [row] = await this.#query(NEWEST);
    return Number(row?.n ?? 0);
  }

  async #rate(windowMs: number, principal: string | undefined): Promise<JournalRates> {
    const now = this.#options.clock.now();
    const until = Math.floor(now) + AHEAD_MS;
    const rows = await this.#query(toBuckets(Math.floor(now - windowMs), until, principal));
    const buckets = rows.map(
      ({ agent, code, bucket, n }) =>
        ({ agent, code, bucket: Number(bucket), n: Number(n) }) as Bucket,
    );
    const byAgent = Map.groupBy(buckets, ({ agent }) => agent);
    const byCode = Map.groupBy(buckets, ({ code }) => code);
    byAgent.delete(null);
    byCode.delete(null);
    const agents = [...byAgent].map(([agent, own]) => ({
      agent_id: String(agent),
      ...toRate(own, windowMs),
    }));
    const codes = [...byCode].map(([code, own]) => ({
      code: String(code),
      calls: own.reduce((sum, { n }) => sum + n, 0),
    }));
    return {
      window_ms: windowMs,
      ...toRate(buckets, windowMs),
      agents: agents.sort((a, b) => b.calls - a.calls),
      codes: codes.sort((a, b) => b.calls - a.calls),
    };
  }

  /** What ran when this gateway ended without a word does not run any more. */
  async #closeOrphans(): Promise<void> {
    const { table, gateway, log } = this.#options;
    try {
      const rows = await table.query(toOrphans(gateway));
      for (const call of rows.map(fromRow)) {
        const ended = { ended_at: call.began_at, ms: 0, code: 'CANCELLED' } as const;
        this.write({ ...call, ...ended, reason: 'gateway_ended' });
      }
    } catch (thrown) {
      const error = FabricError.from(thrown);
      this.#writer.problem = error;
      log.warn({ error }, 'the journal is not available; calls go on');
    }
  }
}

/** Waits for the next batch, for others after a while, or for the end. */
async function settles(
  written: Promise<void>,
  signal: AbortSignal,
  pollMs: number | undefined,
): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = () => resolve();
  const timer = pollMs === undefined ? undefined : setTimeout(done, pollMs);
  signal.addEventListener('abort', done, { once: true });
  try {
    await Promise.race([written, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', done);
  }
}
