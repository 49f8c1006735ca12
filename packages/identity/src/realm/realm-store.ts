import type { FabricError, Json, Log } from '@starloom/core';

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
  /** What commits said after a version, oldest first. */
  events(name: string, after: number, limit: number): Promise<RealmEvents>;
}

export interface RealmEvents {
  readonly events: readonly { readonly version: number; readonly event: Json }[];
  /** Read on from here. */
  readonly cursor: number;
  /** Some are gone, or the store never came that far: read the entries. */
  readonly gap: boolean;
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

interface RealmCommit {
  readonly writes: readonly RealmPut[];
  readonly event?: Json | undefined;
  readonly ifKeys?: ReadonlyMap<string, number> | undefined;
}

type RealmResult =
  | { readonly ok: true; readonly version: number }
  /** `current` has the keys of the commit, where a version was another one. */
  | { readonly ok: false; readonly reason: string; readonly current?: RealmSnapshot };

export interface ReachWords {
  /** What follows from a store that cannot be reached. */
  readonly away: string;
  readonly back: string;
}

/** Whether the store of the realm can be reached; the log says when that changes, and only then. */
export class StoreReach {
  readonly #log: Log;
  readonly #words: ReachWords;
  #isAway = false;

  constructor(log: Log, words: ReachWords) {
    this.#log = log;
    this.#words = words;
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  reached(): void {
    if (this.#isAway) this.#log.info({}, this.#words.back);
    this.#isAway = false;
  }

  failed(error: FabricError): void {
    if (!this.#isAway) this.#log.warn({ error, fix: error.details.fix }, this.#words.away);
    this.#isAway = true;
  }
}
