import { FabricError, type Log } from '@starloom/core';
import { type ReachWords, type RealmStore, StoreReach } from './realm-store.ts';

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
