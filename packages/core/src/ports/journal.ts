// The journal: what became of every call, for people. It keeps the newest calls in a ring, and sums of all
// calls by day. Writing never waits and never throws: a journal that fails loses calls, and says so in `check`.

import type { ErrorCode } from '../errors.ts';
import type { EventType } from '../events.ts';

export type JournalFace = 'mcp' | 'a2a' | 'rpc' | 'console' | 'job' | 'http';

/** One call at one gateway: a hop of its trace. Times ending in `_at` are milliseconds since 1970. */
export interface JournalCall {
  readonly trace_id: string;
  /** Names the call: a later entry with the same ids takes its place. */
  readonly span_id: string;
  readonly parent_span_id: string | null;
  /** The node of the gateway that served it. */
  readonly gateway?: string;
  readonly face: JournalFace;
  readonly transport: string;
  /** The tool, or the method of the face. */
  readonly tool: string;
  /** Who called, and who owns what the call made; `null` before that was known. */
  readonly principal: string | null;
  /** On whose behalf and who acts, where another acts for the principal. */
  readonly on_behalf_of?: string;
  readonly delegate?: string;
  readonly depth: number;
  /** The links that the call passed before it came here, `agent/capability`. */
  readonly chain: readonly string[];
  readonly agent_id: string | null;
  readonly capability: string | null;
  readonly job_id?: string;
  readonly session_id?: string;
  readonly stream: boolean;
  /** Milliseconds after `began_at`: admitted, and its candidates chosen. */
  readonly admitted_ms?: number;
  readonly routed_ms?: number;
  readonly route?: readonly JournalCandidate[];
  readonly skipped?: readonly { readonly agent_id: string; readonly reason: string }[];
  /** The policy rule that decided, and how. */
  readonly rule?: string;
  readonly effect?: string;
  readonly attempts: readonly JournalAttempt[];
  readonly fallback: boolean;
  /** How many of each kind. */
  readonly events: Readonly<Partial<Record<EventType, number>>>;
  /** The first ones, with their time after `began_at`. */
  readonly first_events: readonly (readonly [type: EventType, ms: number])[];
  readonly cost?: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly began_at: number;
  /** `null` while it runs. */
  readonly ended_at: number | null;
  readonly ms: number | null;
  /** `null` while it runs, and when it succeeded. */
  readonly code: ErrorCode | null;
  readonly reason?: string;
  readonly message?: string;
  /** Redacted and shortened JSON; only with `journal.payloads: redacted`. */
  readonly input?: string;
  readonly output?: string;
}

export interface JournalCandidate {
  readonly agent_id: string;
  readonly node_id: string;
  readonly kind: 'primary' | 'fallback' | 'peer';
  readonly availability: string;
  readonly reason: string;
}

export interface JournalAttempt {
  /** What the agent calls has this as its parent; absent where nothing was tried. */
  readonly span_id?: string;
  readonly agent_id: string;
  readonly node_id: string;
  readonly protocol: string;
  readonly fallback: boolean;
  /** After `began_at` of the call. */
  readonly began_ms: number;
  /** `null` while it runs. */
  readonly ms: number | null;
  readonly code: ErrorCode | null;
  readonly reason?: string;
  /** Whether the call may have reached the agent, where that is known. */
  readonly sent?: boolean;
}

export type JournalStatus = 'running' | 'ok' | 'failed';

export interface JournalFilter {
  readonly principal?: string | undefined;
  readonly agent_id?: string | undefined;
  /** In the spelling of its agent. */
  readonly capability?: string | undefined;
  readonly face?: JournalFace | undefined;
  readonly status?: JournalStatus | undefined;
  readonly code?: string | undefined;
  /** By when calls began, in milliseconds: from, and before. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly trace_id?: string | undefined;
  /** Calls that took this long, or at most 5 % less. */
  readonly min_ms?: number | undefined;
  /** Calls in which an attempt was a fallback. */
  readonly fallback?: true | undefined;
  /** Anywhere in the entry, in any case; of several texts, each of them. */
  readonly text?: string | readonly string[] | undefined;
}

export interface JournalPageOptions {
  /** At most `MAX_JOURNAL_PAGE`. */
  readonly limit: number;
  /** Only older entries: `next` of the page before. */
  readonly before?: number | undefined;
  /** Only what was written after this number, oldest first: `cursor` of a page. */
  readonly after?: number | undefined;
}

export const MAX_JOURNAL_PAGE = 1_000;

export interface JournalPage {
  /** The newest first, in the order in which they were written: a call moves up when it ends. */
  readonly calls: readonly JournalCall[];
  /** For `before`; absent on the last page. */
  readonly next?: number;
  /** For `after`: the newest entry of this page, or where the reader was. */
  readonly cursor: number;
}

export const USAGE_KEYS = ['caller', 'agent', 'tool', 'day'] as const;
export type UsageKey = (typeof USAGE_KEYS)[number];

export interface UsageQuery {
  readonly by: UsageKey;
  readonly principal?: string | undefined;
  /** Whole days of UTC are counted: that of `since`, and those before `until`. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

export interface UsageRow {
  /** The caller, agent, tool (`agent/capability`) or day (`2026-01-31`); `-` for none. */
  readonly key: string;
  readonly calls: number;
  readonly failed: number;
  /** Milliseconds of all calls together. */
  readonly ms: number;
  readonly cost: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
}

/** Calls that ended within a window until now. Percentiles are within 5 %. */
export interface JournalRate {
  readonly calls: number;
  readonly failed: number;
  readonly per_second: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

export interface JournalRates extends JournalRate {
  readonly window_ms: number;
  /** The busiest first. */
  readonly agents: readonly (JournalRate & { readonly agent_id: string })[];
  /** Failures by code, the most frequent first. */
  readonly codes: readonly { readonly code: string; readonly calls: number }[];
}

export interface Journal {
  readonly kind: 'sqlite' | 'postgres' | 'memory';
  /** Takes an entry: a call that runs, or one that ended. Never throws; what finds no room is lost. */
  write(call: JournalCall): void;
  /** Resolves when what was written until now can be read, or was lost. */
  flushed(): Promise<void>;
  list(filter: JournalFilter, page: JournalPageOptions): Promise<JournalPage>;
  /** Every hop of a trace that this journal knows, the first to begin first. */
  get(traceId: string, principal?: string): Promise<readonly JournalCall[]>;
  /** New and changed calls from now on, or after a cursor, until the signal aborts. */
  follow(
    filter: JournalFilter,
    options: { readonly signal: AbortSignal; readonly after?: number | undefined },
  ): AsyncIterable<JournalCall>;
  usage(query: UsageQuery): Promise<readonly UsageRow[]>;
  rates(
    windowsMs: readonly number[],
    filter?: { readonly principal?: string | undefined },
  ): Promise<readonly JournalRates[]>;
  /** Removes what is kept of a principal; how many calls. */
  erase(principal: string): Promise<number>;
  /** How much is kept and was lost; rejects when entries cannot be written at the moment. */
  check(): Promise<JournalCheck>;
  close(): Promise<void>;
}

export interface JournalCheck {
  readonly calls: number;
  /** Entries that found no room since the start. */
  readonly lost: number;
}
