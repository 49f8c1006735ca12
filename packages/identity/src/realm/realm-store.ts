import type { Json } from '@starloom/core';

/**
 * What the gateways of a realm share, and no client of theirs reaches. Each name has entries of its
 * own. An operation rejects when the store cannot be reached; one that writes may have been done.
 */
export interface RealmStore {
  /** All entries, or those asked for; expired ones are absent. The version rises with every commit. */
  read(name: string, keys?: readonly string[]): Promise<RealmSnapshot>;
  /** All of it, or nothing where a key is not at the version that is expected; 0 is an absent key. */
  commit(name: string, commit: RealmCommit): Promise<RealmResult>;
  /** Calls back after a commit with an event, of any gateway: a hint to read. */
  watch(name: string, listener: () => void): Promise<() => Promise<void>>;
}

export interface RealmEntry {
  readonly value: Json;
  readonly version: number;
}

export interface RealmSnapshot {
  readonly version: number;
  readonly entries: ReadonlyMap<string, RealmEntry>;
}

export interface RealmPut {
  readonly kind: 'put';
  readonly key: string;
  readonly value: Json;
  readonly ttlMs?: number | undefined;
}

export interface RealmCommit {
  readonly writes: readonly RealmPut[];
  readonly event?: Json | undefined;
  readonly ifKeys?: ReadonlyMap<string, number> | undefined;
}

export type RealmResult =
  | { readonly ok: true; readonly version: number }
  /** `current` has the keys of the commit, where a version was another one. */
  | { readonly ok: false; readonly reason: string; readonly current?: RealmSnapshot };
