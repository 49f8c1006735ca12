import type { FabricError, Json } from '@starloom/core';

export interface Entry {
  readonly value: Json;
  /** The partition version at which this key last changed. */
  readonly version: number;
}

export interface Snapshot {
  /** 0 for a partition without any write. */
  readonly version: number;
  readonly entries: ReadonlyMap<string, Entry>;
}

export type Write =
  | {
      readonly kind: 'put';
      readonly key: string;
      readonly value: Json;
      readonly ttlMs?: number | undefined;
      /** Appended as an event when the time of the key is over; a later write takes it back. */
      readonly onExpire?: Json | undefined;
    }
  /** An absent key counts as 0; one that is there keeps its time to live. */
  | { readonly kind: 'increment'; readonly key: string; readonly by: number }
  | { readonly kind: 'delete'; readonly key: string };

export interface Commit {
  /** Each key at most once. */
  readonly writes: readonly Write[];
  /** Sent to watchers with the version of this commit. */
  readonly event?: Json | undefined;
  /** The partition must be at exactly this version. Events of locks and expiry count, too. */
  readonly ifVersion?: number | undefined;
  /** These keys must be at exactly these versions; 0 means absent. */
  readonly ifKeys?: ReadonlyMap<string, number> | undefined;
  /** The live exclusive lease on `resource` must carry this token. */
  readonly fence?: { readonly resource: string; readonly token: number } | undefined;
  /**
   * The partition remembers it for ten minutes: a repeated commit changes nothing and gets the
   * first result. A refused commit is not remembered, since it changed nothing.
   */
  readonly idempotency?: Idempotency | undefined;
}

export interface Idempotency {
  readonly key: string;
  /** What is asked for: another request with the same key is `reused`, and does nothing. */
  readonly request: string;
}

export type CommitResult =
  | { readonly ok: true; readonly version: number }
  /**
   * `not_a_number`: an increment of something else, or one that a number cannot hold: beyond
   * ±(2^53 - 1), where integers have gaps, or too small beside the value to change it.
   */
  | { readonly ok: false; readonly reason: 'conflict' | 'not_a_number'; readonly current: Snapshot }
  | { readonly ok: false; readonly reason: 'fenced' }
  | { readonly ok: false; readonly reason: 'reused' };

export interface StoredEvent {
  readonly version: number;
  readonly at: number;
  readonly event: Json;
  /** About how much it takes: the length of its JSON. */
  readonly size: number;
}

export interface EventPage {
  readonly events: readonly StoredEvent[];
  /** Read on from here. */
  readonly cursor: number;
  /**
   * True when events after the asked cursor were trimmed, or when the partition never came that far
   * (it was dropped since): take a snapshot first.
   */
  readonly gap: boolean;
}

export type LeaseMode = 'exclusive' | 'shared';

export interface Lease {
  readonly resource: string;
  readonly holder: string;
  readonly mode: LeaseMode;
  /**
   * Strictly larger than any token granted on this resource before, also before a drop: it is at
   * least the engine's time, so that not even lost writes bring a token back.
   */
  readonly token: number;
  readonly expiresAt: number;
  /** Set when the lease was waited for. */
  readonly ticket?: string;
}

export interface LeaseRequest {
  readonly resource: string;
  readonly holder: string;
  readonly mode: LeaseMode;
  readonly ttlMs: number;
  /** How long to stand in the queue when the lease is not free; without it, not at all. */
  readonly waitMs?: number | undefined;
  /**
   * Higher is served first, 0 by default; equals are served as they came. No request overtakes one
   * that has waited for five seconds.
   */
  readonly priority?: number | undefined;
  /** As that of a commit; the first answer comes again while its lease or place is there. */
  readonly idempotency?: Idempotency | undefined;
}

export type AcquireResult =
  | { readonly lease: Lease }
  | { readonly heldBy: readonly Lease[] }
  /** The first place is 1. */
  | { readonly queued: { readonly ticket: string; readonly position: number } }
  | { readonly reused: true };

export interface ReleaseResult {
  /** False when it was gone already. */
  readonly released: boolean;
  /** What waiters got because of this release. */
  readonly granted: readonly Lease[];
}

export interface Waiting {
  readonly ticket: string;
  readonly resource: string;
  readonly holder: string;
  readonly mode: LeaseMode;
  readonly priority: number;
  readonly position: number;
  readonly since: number;
  /** The place is given up at this time. */
  readonly until: number;
}

export type LockedCommitResult =
  /** `token` is what the commit wrote under; the lease is released already. */
  | { readonly ok: true; readonly version: number; readonly token: number }
  | { readonly ok: false; readonly reason: 'conflict' | 'not_a_number'; readonly current: Snapshot }
  | { readonly ok: false; readonly reason: 'held'; readonly heldBy: readonly Lease[] }
  | { readonly ok: false; readonly reason: 'reused' };

/** Why an engine that does its work may nevertheless lose some of it, and what to do. */
export interface StoreWarning {
  readonly problem: string;
  readonly fix: string;
}

/**
 * What coordination needs of an engine, and no more. A partition (one session, say) is the unit of
 * atomicity: each operation applies whole or not at all. A commit raises the partition's version by
 * one and appends at most one event under that version; events that the engine appends itself take
 * a version each. So version and cursor are one number. Time is the engine's, never the caller's.
 *
 * Engines append two events on their own, both with `resource`, `holder`, `token` and `mode`:
 * `lock.granted` (`expires_at`, `ticket`) and `lock.lost` (`reason`: `expired` or `broken`).
 *
 * Leases expire by themselves. A lease alone is no safety, since its holder may be paused: `commit`
 * checks the token inside the write, against the live lease and against the highest token that ever
 * wrote, which is kept with the data and outlives the lease.
 *
 * No request overtakes in the queue of a resource. The store grants a request at once only when no
 * lease is in its way and no request of the same or a higher priority waits. A request that has
 * waited for five seconds is in the way of every other. The store never grants a place whose time
 * is over.
 *
 * What time makes due is seen at once by every read: expired keys, leases and places are absent.
 * The events about it, and the grants that follow, come with the next operation that may write to
 * the partition, or with `tick`, whichever is first: events of expired keys, then lost leases, then
 * grants.
 *
 * A partition that has held no keys, events, leases and places for ten minutes counts as one that
 * never existed: its versions start again from the beginning, as after a drop.
 *
 * What a read or a watcher received is as durable as the engine makes an answered commit. When the
 * engine cannot be reached, operations throw OVERLOADED with `details.reason` =
 * `engine_unavailable`; one that writes may have been done nevertheless, which is what idempotency
 * keys are for.
 */
export interface CoordinationStore {
  /** Set once the engine has failed for good: it does nothing any more until it is opened again. */
  readonly failure?: FabricError | undefined;
  /** All keys, or those asked for; expired ones are absent. */
  read(partition: string, keys?: readonly string[]): Promise<Snapshot>;
  commit(partition: string, commit: Commit): Promise<CommitResult>;
  /** Events after a version, oldest first. */
  events(partition: string, after: number, limit: number): Promise<EventPage>;
  /**
   * Calls back after each new event, at least once: a hint to read on. Never after it stopped. The
   * listener must not throw.
   */
  watch(partition: string, listener: (version: number) => void): Promise<() => Promise<void>>;
  /**
   * The lease; or, when it is not free, a place in the queue if `waitMs` asks for one; or the
   * leases on the resource. Never waits: `lock.granted` with the ticket reports its turn.
   * A holder is a name only: one that asks twice gets in its own way.
   */
  acquire(partition: string, request: LeaseRequest): Promise<AcquireResult>;
  /** `undefined`: the lease is gone. */
  renew(
    partition: string,
    lease: Pick<Lease, 'resource' | 'token'>,
    ttlMs: number,
  ): Promise<Lease | undefined>;
  release(partition: string, lease: Pick<Lease, 'resource' | 'token'>): Promise<ReleaseResult>;
  /** Forcibly ends the lease with this token, or all leases on the resource. */
  breakLease(partition: string, resource: string, token?: number): Promise<ReleaseResult>;
  /** False when the ticket has no place (any more); then it may have been granted. */
  cancelWait(partition: string, ticket: string): Promise<boolean>;
  leases(partition: string, resource?: string): Promise<readonly Lease[]>;
  /** In the order in which they will be served, per resource. */
  waiting(partition: string, resource?: string): Promise<readonly Waiting[]>;
  /**
   * The circle of holders that the place closed, from its own on; `undefined` when its wait can end.
   * Costs no more than the chain of those it waits for, and little for one no agent waits for.
   */
  deadlock(
    partition: string,
    place: Pick<Waiting, 'ticket' | 'holder'>,
  ): Promise<readonly string[] | undefined>;
  /**
   * Takes the exclusive lease, commits under its token and releases it, in one step. When the
   * lease is not free, or the commit is refused, nothing changes.
   */
  acquireAndCommit(
    partition: string,
    request: Pick<LeaseRequest, 'resource' | 'holder' | 'priority'>,
    commit: Omit<Commit, 'fence'>,
  ): Promise<LockedCommitResult>;
  /**
   * Runs expired timers in all partitions. A process that wants events of grants and expiry without
   * waiting for other traffic calls it often; any number of processes may at once.
   */
  tick(): Promise<void>;
  /**
   * Does a small piece of real work, writing included; throws when the engine cannot, or when
   * watchers hear nothing.
   */
  check(): Promise<readonly StoreWarning[]>;
  /** About how many bytes these partitions take together; those that are not there take none. */
  size(partitions: readonly string[]): Promise<number>;
  /** Forgets the partition with all its keys, events, leases and places. */
  drop(partition: string): Promise<void>;
  close(): Promise<void>;
}
