// The calls of late, in memory, for people who ask what is going on: those that run, and the last
// thousand that ended.

import type { Attempt, ErrorCode } from '@starloom/core';

/** One call while it runs; the code that runs it writes here. */
export interface CallEntry {
  readonly trace_id: string;
  readonly span_id: string;
  /** Milliseconds since 1970. */
  readonly started_at: number;
  readonly tool: string;
  /** A hash, never the name. */
  readonly principal: string | null;
  readonly stream: boolean;
  readonly attempts: Attempt[];
  agent_id: string | null;
  capability: string | null;
  /** `null` while the call runs; so are `ok` and, unless it failed, `code`. */
  ms: number | null;
  ok: boolean | null;
  code: ErrorCode | null;
  fallback: boolean;
  events: number;
  first_event_ms: number | null;
}

/** One call as shown. */
export type CallRecord = Readonly<
  Omit<CallEntry, 'started_at' | 'attempts'> & {
    started_at: string;
    attempts: readonly Attempt[];
  }
>;

export interface RecentCallsFilter {
  readonly limit?: number;
  /** Calls that this agent answered or was tried for. */
  readonly agent_id?: string;
  /** Only calls that ended, in this way. */
  readonly ok?: boolean;
}

const KEPT = 1000;
const DEFAULT_LIMIT = 100;

export class RecentCalls {
  readonly #kept: number;
  readonly #active = new Set<CallEntry>();
  /** A ring: the oldest stands at `#next` once it is full. */
  readonly #ended: CallEntry[] = [];
  #next = 0;

  constructor(kept = KEPT) {
    this.#kept = kept;
  }

  get activeCount(): number {
    return this.#active.size;
  }

  started(entry: CallEntry): void {
    this.#active.add(entry);
  }

  ended(entry: CallEntry): void {
    this.#active.delete(entry);
    this.#ended[this.#next] = entry;
    this.#next = (this.#next + 1) % this.#kept;
  }

  /** Those that run first, then those that ended; the newest first in both. */
  list({ limit = DEFAULT_LIMIT, agent_id, ok }: RecentCallsFilter = {}): CallRecord[] {
    const records: CallRecord[] = [];
    for (const entry of this.#newestFirst()) {
      if (records.length >= limit) break;
      if (ok !== undefined && entry.ok !== ok) continue;
      if (agent_id !== undefined && !involves(entry, agent_id)) continue;
      records.push(toRecord(entry));
    }
    return records;
  }

  /** Every call on this trace, an agent's own calls included; empty when there is none. */
  get(traceId: string): CallRecord[] {
    const records: CallRecord[] = [];
    for (const entry of this.#newestFirst()) {
      if (entry.trace_id === traceId) records.push(toRecord(entry));
    }
    return records;
  }

  *#newestFirst(): Generator<CallEntry> {
    yield* [...this.#active].reverse();
    const ended = this.#ended;
    for (let age = 1; age <= ended.length; age += 1) {
      const entry = ended[(this.#next - age + ended.length) % ended.length];
      if (entry) yield entry;
    }
  }
}

function involves({ agent_id, attempts }: CallEntry, agentId: string): boolean {
  return agent_id === agentId || attempts.some((attempt) => attempt.agent_id === agentId);
}

function toRecord(entry: CallEntry): CallRecord {
  const started_at = new Date(entry.started_at).toISOString();
  return { ...entry, started_at, attempts: [...entry.attempts] };
}
