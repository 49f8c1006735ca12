// What becomes of each lock: it is held, and then given up or lost. The client reports a loss once,
// and what has ended stays so, whatever answer comes later.

import { RecentMap } from '@starloom/core';
import { type HeldLock, HeldLocks, lockId } from './held-locks.ts';

export interface LostLock extends HeldLock {
  /**
   * `expired` and `broken` as the server says it, or by the client's own clock; `gone` when it was
   * not there any more; `new_life` when the agent was lost; `closed` when the client was closed.
   */
  readonly reason: string;
}

/** `releasing` until the server has confirmed it: it may say that the lock was lost before. */
type Ending = LostLock | 'releasing' | 'given up';

const REMEMBERED = 1_000;

export class KnownLocks {
  readonly #held = new HeldLocks((lock) => this.lose({ ...lock, reason: 'expired' }));
  readonly #ended = new RecentMap<Ending>(REMEMBERED);
  readonly #watchers = new Map<string, (lost: LostLock) => void>();
  readonly #onLost: (lost: LostLock) => void;

  constructor(onLost: (lost: LostLock) => void) {
    this.#onLost = onLost;
  }

  /** By the clock: a lock whose time is over is reported as lost before this returns. */
  isHeld(lock: HeldLock): boolean {
    return this.#held.has(lock);
  }

  isUnknown(lock: HeldLock): boolean {
    return !this.#held.has(lock) && this.#ended.get(lockId(lock)) === undefined;
  }

  lossOf(lock: HeldLock): LostLock | undefined {
    const ending = this.#ended.get(lockId(lock));
    return typeof ending === 'object' ? ending : undefined;
  }

  /** Those held in a session, or all. */
  list(sessionId?: unknown): readonly HeldLock[] {
    return this.#held.list(sessionId);
  }

  /**
   * Calls back when the lock is lost, before any other listener; returns a function that stops it.
   */
  watch(lock: HeldLock, onLost: (lost: LostLock) => void): () => void {
    this.#watchers.set(lockId(lock), onLost);
    return () => this.#watchers.delete(lockId(lock));
  }

  /** Until then, by `performance.now()`; without it until it ends in another way. */
  keep(lock: HeldLock, until?: number): void {
    if (this.#ended.get(lockId(lock)) === undefined) this.#held.hold(lock, until);
  }

  giveUp(lock: HeldLock, how: 'releasing' | 'given up' = 'given up'): void {
    const wasHeld = this.#held.has(lock);
    this.#held.drop(lock);
    if (this.lossOf(lock) === undefined) this.#ended.set(lockId(lock), wasHeld ? how : 'given up');
  }

  lose(lost: LostLock): void {
    this.#held.drop(lost);
    const ending = this.#ended.get(lockId(lost));
    if (ending !== undefined && ending !== 'releasing') return;
    this.#ended.set(lockId(lost), lost);
    this.#watchers.get(lockId(lost))?.(lost);
    this.#onLost(lost);
  }

  loseIfHeld(lock: HeldLock, reason: string): void {
    if (this.#held.has(lock)) this.lose({ ...lock, reason });
  }
}
