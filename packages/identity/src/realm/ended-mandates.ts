// Mandates whose call is over, of all gateways of a realm. The gateway that minted one knows it by
// itself, and notifies the others through the store they share. Another gateway asks the store when it sees
// a mandate for the first time, and then polls every second: no request waits for that.

import { type Clock, FabricError, type Log } from '@starloom/core';
import { settlesWithin } from '@starloom/wire';
import { SKEW_S } from '../tokens/claims.ts';
import { type RealmPut, type RealmStore, StoreReach } from './realm-store.ts';

interface EndedMandatesOptions {
  readonly realm: RealmStore;
  readonly clock: Clock;
  readonly log: Log;
}

interface Followed {
  /** In milliseconds. */
  readonly forgetAt: number;
  isOver: boolean;
}

const ENDED = 'ended';
const LOOK_MS = 1_000;
/** A request waits no longer for the store. */
const ANSWER_MS = 1_000;
const KEYS_AT_ONCE = 500;
/** Of other gateways that are looked at; the oldest one is asked for again when it is used. */
const MAX_FOLLOWED = 50_000;
/** That wait for a store that is away; the oldest ones end by their time. */
const MAX_WAITING = 100_000;

export class EndedMandates {
  readonly #options: EndedMandatesOptions;
  readonly #followed = new Map<string, Followed>();
  /** To be written: ids and when they can be forgotten. */
  readonly #waiting = new Map<string, number>();
  readonly #looking: NodeJS.Timeout;
  #writing: Promise<void> | undefined;
  #reading: Promise<void> | undefined;
  readonly #reach: StoreReach;

  constructor(options: EndedMandatesOptions) {
    this.#options = options;
    this.#reach = new StoreReach(options.log, {
      away: 'mandates of other gateways are accepted until they expire',
      back: 'ended mandates are shared with other gateways again',
    });
    this.#looking = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** The call of a mandate that was minted here is over. */
  add(jti: string, expiresAt: number): void {
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size >= MAX_WAITING && oldest !== undefined) this.#waiting.delete(oldest);
    this.#waiting.set(jti, toForgetAt(expiresAt));
    if (!this.#reach.isAway) this.#writing ??= this.#write();
  }

  /** Whether a mandate of another gateway, which was followed, is accepted still. */
  isAccepted(jti: string): boolean {
    return this.#followed.get(jti)?.isOver === false;
  }

  /** Follows a mandate of another gateway. While the store is away it is accepted until it expires. */
  async follow(jti: string, expiresAt: number): Promise<void> {
    if (this.#followed.get(jti)?.isOver) return;
    const [oldest] = this.#followed.keys();
    if (this.#followed.size >= MAX_FOLLOWED && oldest !== undefined) this.#followed.delete(oldest);
    const followed = { forgetAt: toForgetAt(expiresAt), isOver: false };
    this.#followed.set(jti, followed);
    const asked = this.#useStore(async (realm) => {
      followed.isOver = (await realm.read(ENDED, [jti])).entries.has(jti);
    });
    await settlesWithin(asked, ANSWER_MS);
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    await this.#reading;
    while (this.#writing) await this.#writing;
  }

  #look(): void {
    if (this.#waiting.size > 0) this.#writing ??= this.#write();
    if (this.#followed.size > 0) this.#reading ??= this.#read();
  }

  /** What is added meanwhile goes with the next commit. */
  async #write(): Promise<void> {
    await Promise.resolve();
    await this.#useStore(async (realm) => {
      for (let batch = this.#batch(); batch.length > 0; batch = this.#batch()) {
        await realm.commit(ENDED, { writes: batch });
        for (const { key } of batch) this.#waiting.delete(key);
      }
    });
    const isMore = this.#waiting.size > 0 && !this.#reach.isAway;
    this.#writing = isMore ? this.#write() : undefined;
  }

  #batch(): RealmPut[] {
    const now = this.#options.clock.now();
    const batch: RealmPut[] = [];
    for (const [key, forgetAt] of this.#waiting) {
      if (forgetAt <= now) this.#waiting.delete(key);
      else batch.push({ kind: 'put', key, value: 1, ttlMs: forgetAt - now });
      if (batch.length === KEYS_AT_ONCE) break;
    }
    return batch;
  }

  async #read(): Promise<void> {
    const now = this.#options.clock.now();
    const open: string[] = [];
    for (const [jti, { forgetAt, isOver }] of this.#followed) {
      if (forgetAt <= now) this.#followed.delete(jti);
      else if (!isOver) open.push(jti);
    }
    await this.#useStore(async (realm) => {
      for (let at = 0; at < open.length; at += KEYS_AT_ONCE) {
        const { entries } = await realm.read(ENDED, open.slice(at, at + KEYS_AT_ONCE));
        for (const jti of entries.keys()) {
          const followed = this.#followed.get(jti);
          if (followed) followed.isOver = true;
        }
      }
    });
    this.#reading = undefined;
  }

  /** Never rejects: without the store, mandates of other gateways end by their time. */
  async #useStore(work: (realm: RealmStore) => Promise<void>): Promise<void> {
    try {
      await work(this.#options.realm);
      this.#reach.reached();
    } catch (error) {
      this.#reach.failed(FabricError.from(error));
    }
  }
}

/** Longer than it is accepted with clocks that differ. */
function toForgetAt(expiresAt: number): number {
  return expiresAt + 2 * SKEW_S * 1000;
}
