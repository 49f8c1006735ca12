// Collects the calls of the journal and writes them in batches, one at a time, apart from the calls themselves. A
// batch that cannot be written is lost and counted; the next one tries again.

import { FabricError, type JournalCall, type Log } from '@starloom/core';
import { BlockWriter, type CallBlock } from './call-block.ts';
import { DAY_MS, type JournalTable, textOf, type UsageSum, type Value } from './journal-table.ts';

const FLUSH_MS = 200;
const MAX_BLOCK_CALLS = 100;
const READY_BLOCKS = 3;
/** While a client follows: people see calls as they end. */
const FOLLOWED_FLUSH_MS = 40;
/** What waits while the table is slow; more is lost. */
const MAX_PENDING = 20_000;

export class JournalWriter {
  /** Clients that follow. */
  followers = 0;
  /** Why the last batch was lost. */
  problem: FabricError | undefined;
  lost = 0;
  isClosed = false;
  readonly #table: JournalTable;
  readonly #log: Log;
  readonly #newest = new BlockWriter();
  #blocks: CallBlock[] = [];
  #pending = 0;
  /** Those that are being written. */
  #sent = 0;
  readonly #sums = new UsageSums();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #written = Promise.withResolvers<void>();

  constructor(table: JournalTable, log: Log) {
    this.#table = table;
    this.#log = log;
  }

  /** Resolves when the batch of the moment is written or lost, and at the end. */
  get written(): Promise<void> {
    return this.#written.promise;
  }

  readonly write = (call: JournalCall): void => {
    if (this.isClosed || this.#pending + this.#sent >= MAX_PENDING) {
      this.lost += 1;
      return;
    }
    this.#newest.add(call);
    if (this.#newest.calls === MAX_BLOCK_CALLS) this.#seal();
    this.#pending += 1;
    this.#sums.add(call);
    // What waits here is copied by every collection of garbage: under load it does not wait for the timer.
    if (this.#blocks.length >= READY_BLOCKS && !this.#writing) this.#flush();
    else this.#flushSoon();
  };

  async flushed(): Promise<void> {
    while (this.#pending > 0 || this.#writing) {
      this.#flush();
      await this.#writing;
    }
  }

  async close(): Promise<void> {
    await this.flushed();
    this.isClosed = true;
    clearTimeout(this.#timer);
    this.#written.resolve();
  }

  #flushSoon(): void {
    const wait = this.followers > 0 ? FOLLOWED_FLUSH_MS : FLUSH_MS;
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
    if (this.#newest.calls > 0) this.#blocks.push(this.#newest.take());
  }

  async #append(blocks: readonly CallBlock[], count: number): Promise<void> {
    try {
      await this.#table.append(blocks, this.#sums.take());
      if (this.problem) this.#log.info({ lost: this.lost }, 'the journal takes calls again');
      this.problem = undefined;
    } catch (thrown) {
      this.lost += count;
      const error = FabricError.from(thrown);
      if (this.problem?.details.reason !== error.details.reason)
        this.#log.warn({ error }, 'the journal loses calls; calls go on');
      this.problem = error;
    }
    this.#written.resolve();
    this.#written = Promise.withResolvers();
  }
}

type Sums<Inner, Key = string | null> = Map<Key, Inner>;

/** The sums of calls that ended, by day, caller, agent and tool: a map in a map, since no key is made per call. */
class UsageSums {
  #days: Sums<Sums<Sums<Sums<number[]>>>, number> = new Map();

  add(call: JournalCall): void {
    if (call.ended_at === null) return;
    const { agent_id, capability, cost = 0 } = call;
    // Names of what does not exist are many.
    const tool = isUnknown(call) ? null : agent_id === null ? call.tool : capability;
    const callers = within(this.#days, Math.floor(call.began_at / DAY_MS), () => new Map());
    const agents = within(callers, call.principal, () => new Map());
    const tools = within(agents, agent_id, () => new Map());
    const sum = within(tools, tool, () => [0, 0, 0, 0, 0, 0]);
    const [calls = 0, failed = 0, ms = 0, costs = 0, bytesIn = 0, bytesOut = 0] = sum;
    sum[0] = calls + 1;
    sum[1] = failed + (call.code === null ? 0 : 1);
    sum[2] = ms + Math.round(call.ms ?? 0);
    sum[3] = costs + cost;
    sum[4] = bytesIn + call.bytes_in;
    sum[5] = bytesOut + call.bytes_out;
  }

  /** What was added since it was taken last: one for each key, also where different names are the same text. */
  take(): readonly UsageSum[] {
    const taken = new Map<string, { readonly key: readonly Value[]; readonly sum: number[] }>();
    for (const [day, callers] of this.#days)
      for (const [caller, agents] of callers)
        for (const [agent, tools] of agents)
          for (const [tool, sum] of tools) {
            const name = agent === null || tool === null ? tool : `${agent}/${tool}`;
            const key = [day, ...[caller, agent, name].map((text) => textOf(text) ?? '-')];
            const { sum: known } = taken.get(JSON.stringify(key)) ?? { sum: [] };
            const total = sum.map((value, index) => value + (known[index] ?? 0));
            taken.set(JSON.stringify(key), { key, sum: total });
          }
    this.#days = new Map();
    return [...taken.values()].map(({ key, sum }) => [...key, ...sum]);
  }
}

function within<Inner, Key>(sums: Sums<Inner, Key>, key: Key, make: () => Inner): Inner {
  let inner = sums.get(key);
  if (inner === undefined) {
    inner = make();
    sums.set(key, inner);
  }
  return inner;
}

function isUnknown({ code, attempts }: JournalCall): boolean {
  return code !== null && attempts.length === 0;
}
