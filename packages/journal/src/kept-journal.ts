// The journal over a table: entries are collected and written in batches, one at a time, apart from the
// calls. A batch that cannot be written is lost and counted; the next one tries again.

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
import { BlockWriter, type CallBlock } from './call-block.ts';
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
  UsageSums,
} from './journal-table.ts';
import { failure } from './reasons.ts';

interface KeptJournalOptions {
  readonly table: JournalTable;
  readonly gateway: string;
  readonly clock: Clock;
  readonly log: Log;
}

const FLUSH_MS = 200;
const MAX_FOLLOWED = 1_000;
const MAX_BLOCK_CALLS = 100;
const READY_BLOCKS = 3;
/** While a client follows: people see calls as they end. */
const FOLLOWED_FLUSH_MS = 40;
/** What waits while the table is slow; more is lost. */
const MAX_PENDING = 20_000;
/** The clock of another gateway may be ahead. */
const AHEAD_MS = 60_000;

export class KeptJournal implements Journal {
  readonly kind: Journal['kind'];
  readonly #options: KeptJournalOptions;
  readonly #newestBlock = new BlockWriter();
  #blocks: CallBlock[] = [];
  #pending = 0;
  /** Those that are being written. */
  #sent = 0;
  readonly #sums = new UsageSums();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #written = Promise.withResolvers<void>();
  #followers = 0;
  #problem: FabricError | undefined;
  #lost = 0;
  #isClosed = false;

  private constructor(options: KeptJournalOptions) {
    this.kind = options.table.kind;
    this.#options = options;
  }

  static async open(options: KeptJournalOptions): Promise<KeptJournal> {
    const journal = new KeptJournal(options);
    await journal.#closeOrphans();
    return journal;
  }

  write(call: JournalCall): void {
    if (this.#isClosed || this.#pending + this.#sent >= MAX_PENDING) {
      this.#lost += 1;
      return;
    }
    this.#newestBlock.add(call);
    if (this.#newestBlock.calls === MAX_BLOCK_CALLS) this.#seal();
    this.#pending += 1;
    this.#sums.add(call);
    // What waits here is copied by every collection of garbage: under load it does not wait for the timer.
    if (this.#blocks.length >= READY_BLOCKS && !this.#writing) this.#flush();
    else this.#flushSoon();
  }

  async flushed(): Promise<void> {
    while (this.#pending > 0 || this.#writing) {
      this.#flush();
      await this.#writing;
    }
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
    this.#followers += 1;
    try {
      while (!signal.aborted && !this.#isClosed) {
        const written = this.#written.promise;
        const page = await this.list(filter, { limit: MAX_FOLLOWED, after: cursor });
        yield* page.calls;
        const isCurrent = page.calls.length < MAX_FOLLOWED;
        cursor = page.cursor;
        if (isCurrent) await settles(written, signal, this.#options.table.pollMs);
      }
    } finally {
      this.#followers -= 1;
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
    if (this.#problem) throw this.#problem;
    if (this.#isClosed) throw failure('journal_unavailable/closed');
    return { calls: await this.#options.table.count(), lost: this.#lost };
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.flushed();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#written.resolve();
    await this.#options.table.close();
  }

  #flushSoon(): void {
    const wait = this.#followers > 0 ? FOLLOWED_FLUSH_MS : FLUSH_MS;
    this.#timer ??= setTimeout(() => this.#flush(), wait).unref();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#writing || this.#pending === 0) return;
    this.#seal();
    const count = this.#pending;
    const blocks = this.#blocks;
    this.#blocks = [];
    this.#pending = 0;
    this.#sent = count;
    this.#writing = this.#append(blocks, count).finally(() => {
      this.#writing = undefined;
      this.#sent = 0;
      if (this.#pending > 0) this.#flushSoon();
    });
  }

  #seal(): void {
    if (this.#newestBlock.calls > 0) this.#blocks.push(this.#newestBlock.take());
  }

  async #append(blocks: readonly CallBlock[], count: number): Promise<void> {
    const { table, log } = this.#options;
    try {
      await table.append(blocks, this.#sums.take());
      if (this.#problem) log.info({ lost: this.#lost }, 'the journal takes calls again');
      this.#problem = undefined;
    } catch (thrown) {
      this.#lost += count;
      const error = FabricError.from(thrown);
      if (this.#problem?.details.reason !== error.details.reason)
        log.warn({ error }, 'the journal loses calls; calls go on');
      this.#problem = error;
    }
    this.#written.resolve();
    this.#written = Promise.withResolvers();
  }

  async #query(statement: Parameters<JournalTable['query']>[0]) {
    if (this.#isClosed) throw failure('journal_unavailable/closed');
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
      this.#problem = error;
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
