export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

export interface Entry {
  readonly value: Json;
  /** The partition version at which this key last changed. */
  readonly version: number;
}

export interface Snapshot {
  /** 0 for a partition nobody wrote to. */
  readonly version: number;
  readonly entries: ReadonlyMap<string, Entry>;
}

export type Write =
  | { readonly kind: 'put'; readonly key: string; readonly value: Json; readonly ttlMs?: number }
  | { readonly kind: 'increment'; readonly key: string; readonly by: number }
  | { readonly kind: 'delete'; readonly key: string };

export interface Commit {
  /** Each key at most once. */
  readonly writes: readonly Write[];
  /** Told to watchers with the version of this commit. */
  readonly event?: Json;
  /** The partition must be at exactly this version. */
  readonly ifVersion?: number;
  /** These keys must be at exactly these versions; 0 means absent. */
  readonly ifKeys?: ReadonlyMap<string, number>;
  /** The live exclusive lease on `resource` must carry this token. */
  readonly fence?: { readonly resource: string; readonly token: number };
}

export type CommitResult =
  | { readonly ok: true; readonly version: number }
  | { readonly ok: false; readonly reason: 'conflict' | 'not_a_number'; readonly current: Snapshot }
  | { readonly ok: false; readonly reason: 'fenced' };

export interface StoredEvent {
  readonly version: number;
  readonly at: number;
  readonly event: Json;
}

export interface EventPage {
  readonly events: readonly StoredEvent[];
  /** Read on from here. */
  readonly cursor: number;
  /** True when events after the asked cursor were trimmed: take a snapshot first. */
  readonly gap: boolean;
}

export type LeaseMode = 'exclusive' | 'shared';

export interface Lease {
  readonly resource: string;
  readonly holder: string;
  readonly mode: LeaseMode;
  /** Strictly larger than any token granted on this resource before. */
  readonly token: number;
  readonly expiresAt: number;
}

export interface LeaseRequest {
  readonly resource: string;
  readonly holder: string;
  readonly mode: LeaseMode;
  readonly ttlMs: number;
}

/**
 * What coordination needs of an engine, and no more. A partition (one session, say) is the unit of
 * atomicity: each `commit` applies whole or not at all, raises the partition's version by one and
 * appends at most one event under that version, so version and cursor are one number. Time is the
 * engine's, never the caller's.
 *
 * Leases expire by themselves. A lease alone is no safety, since its holder may be paused: `commit`
 * checks the token inside the write, against the live lease and against the highest token that ever
 * wrote, which is kept with the data and outlives the lease.
 */
export interface CoordinationStore {
  /** All keys, or those asked for; expired ones are absent. */
  read(partition: string, keys?: readonly string[]): Promise<Snapshot>;
  commit(partition: string, commit: Commit): Promise<CommitResult>;
  /** Events after a version, oldest first. */
  events(partition: string, after: number, limit: number): Promise<EventPage>;
  /** Calls back after each commit with an event, at least once; a hint to read on. */
  watch(partition: string, listener: (version: number) => void): Promise<() => Promise<void>>;
  /** The lease, or the leases that stand in its way. Never waits. */
  acquire(
    partition: string,
    request: LeaseRequest,
  ): Promise<{ readonly lease: Lease } | { readonly heldBy: readonly Lease[] }>;
  /** `undefined`: the lease is gone. */
  renew(
    partition: string,
    lease: Pick<Lease, 'resource' | 'token'>,
    ttlMs: number,
  ): Promise<Lease | undefined>;
  /** False when it was gone already. */
  release(partition: string, lease: Pick<Lease, 'resource' | 'token'>): Promise<boolean>;
  leases(partition: string, resource?: string): Promise<readonly Lease[]>;
  /** Forgets the partition with all its keys, events and leases. */
  drop(partition: string): Promise<void>;
  close(): Promise<void>;
}
