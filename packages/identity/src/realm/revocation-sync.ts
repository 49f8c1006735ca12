import { type Clock, FabricError, type Log } from '@starloom/core';
import type { RealmStore } from './realm-store.ts';
import { REVOCATIONS, type SharedFiles, shareRevocations } from './share-revocations.ts';
import { StoreReach } from './store-reach.ts';

export interface RevocationSyncOptions {
  readonly realm: RealmStore;
  readonly files: SharedFiles;
  readonly clock: Clock;
  readonly log: Log;
}

/** Events of the store come first; this finds what they do not tell, and a store that is back. */
const LOOK_MS = 1_000;
/** Now and then whatever the version says: a store that lost its data counts it from the beginning. */
const LOOKS_PER_SHARE = 30;

/**
 * Keeps the revocations of a gateway and those of its realm the same. While the store is away the
 * gateway goes on with what it knows, and what it revokes meanwhile is carried over later.
 */
export class RevocationSync {
  readonly #options: RevocationSyncOptions;
  readonly #looking: NodeJS.Timeout;
  readonly #reach: StoreReach;
  #unwatch: (() => Promise<void>) | undefined;
  /** Of the store, as far as the files know it. */
  #version: number | undefined;
  #isDue = false;
  #looks = 0;
  #running: Promise<void> | undefined;
  #isClosed = false;

  private constructor(options: RevocationSyncOptions) {
    this.#options = options;
    this.#reach = new StoreReach(options.log, {
      away: 'revocations are not shared with other gateways until the coordination store is back',
      back: 'revocations are shared with other gateways again',
    });
    this.#looking = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** Resolves when everything that others revoked before is known, or the store is away. */
  static async open(options: RevocationSyncOptions): Promise<RevocationSync> {
    const sync = new RevocationSync(options);
    await sync.hint();
    return sync;
  }

  /** Something was revoked, here or elsewhere. */
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
        await this.#share();
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
    const { realm } = this.#options;
    this.#unwatch ??= await realm.watch(REVOCATIONS, () => void this.hint());
    if (this.#isDue) return;
    const { version } = await realm.read(REVOCATIONS, []);
    if (version !== this.#version) this.#isDue = true;
  }

  async #share(): Promise<void> {
    const { realm, files, clock, log } = this.#options;
    this.#version = await shareRevocations({ realm, files, now: clock.now(), log });
  }
}
