import { FabricError, type Json, type Log } from '@starloom/core';

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

interface ReachWords {
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

interface StoreFollowerOptions {
  readonly realm: RealmStore;
  /** What of the store it follows. */
  readonly name: string;
  readonly log: Log;
  readonly words: ReachWords;
  /** Brings what is kept here and the store to the same; the version of the store that is known then. */
  readonly share: () => Promise<number>;
}

/** Events of the store come first; polling finds changes without an event, and a store that is back. */
const LOOK_MS = 1_000;
/** Now and then whatever the version says: a store that lost its data counts it from the beginning. */
const LOOKS_PER_SHARE = 30;

/**
 * Shares one part of the state of a gateway with its realm, whenever either side changes. While the store
 * is away the gateway goes on with what it knows, and what changes here meanwhile is carried over later.
 */
export class StoreFollower {
  readonly #options: StoreFollowerOptions;
  readonly #looking: NodeJS.Timeout;
  readonly #reach: StoreReach;
  #unwatch: (() => Promise<void>) | undefined;
  /** Of the store, as far as this gateway knows it. */
  #version: number | undefined;
  #isDue = false;
  #looks = 0;
  #running: Promise<void> | undefined;
  #isClosed = false;

  private constructor(options: StoreFollowerOptions) {
    this.#options = options;
    this.#reach = new StoreReach(options.log, options.words);
    this.#looking = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** Resolves when everything that others wrote before is known, or the store is away. */
  static async open(options: StoreFollowerOptions): Promise<StoreFollower> {
    const follower = new StoreFollower(options);
    await follower.hint();
    return follower;
  }

  /** Something changed, here or elsewhere. */
  hint(): Promise<void> {
    this.#isDue = true;
    this.#running ??= this.#run();
    return this.#running;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#looking);
    await this.#running;
    await this.#unwatch?.().catch(() => undefined);
  }

  #look(): void {
    this.#looks += 1;
    if (this.#looks % LOOKS_PER_SHARE === 0) this.#isDue = true;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    try {
      await this.#lookAtVersion();
      while (this.#isDue && !this.#isClosed) {
        this.#isDue = false;
        this.#version = await this.#options.share();
      }
      this.#reach.reached();
    } catch (error) {
      this.#isDue = true;
      if (!this.#isClosed) this.#reach.failed(FabricError.from(error));
    } finally {
      this.#running = undefined;
    }
  }

  async #lookAtVersion(): Promise<void> {
    const { realm, name } = this.#options;
    this.#unwatch ??= await realm.watch(name, () => void this.hint());
    if (this.#isDue) return;
    const { version } = await realm.read(name, []);
    if (version !== this.#version) this.#isDue = true;
  }
}
