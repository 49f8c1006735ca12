// What happened in a campaign: what clients were answered, what the agent saw, and what is stored.

export const KINDS = ['plain', 'safe', 'task', 'asking', 'parked'] as const;
/**
 * `plain` must not run twice, `safe` may. `task` has an upstream handle; `asking` has one and asks;
 * `parked` asks while its call stays open.
 */
export type Kind = (typeof KINDS)[number];

export interface Accepted {
  readonly jobId: string;
  readonly kind: Kind;
}

/** A final state, as a client saw it. */
export interface Seen {
  readonly jobId: string;
  readonly state: string;
  readonly answer?: string | undefined;
}

export interface StreamItem {
  readonly cursor: number;
  readonly seq: number;
  readonly type: string;
  readonly text: string;
}

/** All that one client received of one job, over any number of connections. */
export interface Stream {
  readonly jobId: string;
  readonly items: StreamItem[];
  /** The server said that there is no more. */
  isComplete: boolean;
  reconnects: number;
}

/** Something that the agent did and that must not happen twice. */
export interface Effect {
  readonly jobId: string;
  readonly kind: 'call' | 'answer';
  /** What the agent answered for it. */
  readonly answer: string;
}

export interface StoredState {
  readonly state: string;
  readonly attempt: number;
  readonly answer?: string | undefined;
  readonly reason?: string | undefined;
  readonly events: readonly StreamItem[];
}

export class History {
  readonly accepted = new Map<string, Accepted>();
  /** By idempotency key: every job id that was answered for it. */
  readonly keys = new Map<string, Set<string>>();
  readonly seen: Seen[] = [];
  readonly streams: Stream[] = [];
  readonly effects: Effect[] = [];
  readonly stored = new Map<string, StoredState>();
  /** Gateways that ended without a fault, and their last words. */
  readonly deaths: string[] = [];
  /** Requests by what became of them. */
  readonly requests = { ok: 0, refused: 0, unknown: 0 };
}

export function isFinalState(state: string): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'cancelled';
}

export function isEnd(type: string): boolean {
  return type === 'final' || type === 'error';
}
