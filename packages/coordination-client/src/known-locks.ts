// What becomes of each lock: it is held, and then given up or lost. The client reports a loss once,
// and what has ended stays so, whatever answer comes later. A lock ends by the client's own clock
// unless the client renews it before: no answer and no push is needed to know that its time is over.
// A timer reports the end. A caller that asks gets the clock itself, since a timer is late when the
// process was busy or stopped.

import { type FabricError, RecentMap } from '@starloom/core';
import { failure, NOT_FOUND, STALE } from './reasons.ts';
import { rpcCodeOf } from './requests.ts';

export interface HeldLock {
  readonly session_id: string;
  readonly resource: string;
  readonly lock_token: number;
}

export interface LostLock extends HeldLock {
  /**
   * `expired` and `broken` as the server says it, or by the client's own clock; `gone` when it was
   * not there any more; `registered_again` when the agent was lost; `closed` when the client was closed.
   */
  readonly reason: string;
}

interface Held {
  readonly lock: HeldLock;
  readonly until: number;
  readonly timer: NodeJS.Timeout | undefined;
}

/** `releasing` until the server has confirmed it: it may say that the lock was lost before. */
type Ending = LostLock | 'releasing' | 'given up';

const REMEMBERED = 1_000;

export class KnownLocks {
  readonly #held = new Map<string, Held>();
  readonly #ended = new RecentMap<Ending>(REMEMBERED);
  readonly #watchers = new Map<string, (lost: LostLock) => void>();
  readonly #onLost: (lost: LostLock) => void;

  constructor(onLost: (lost: LostLock) => void) {
    this.#onLost = onLost;
  }

  /** By the clock: a lock whose time is over is reported as lost before this returns. */
  isHeld(lock: HeldLock): boolean {
    const held = this.#held.get(lockId(lock));
    if (held === undefined) return false;
    if (performance.now() < held.until) return true;
    this.lose({ ...lock, reason: 'expired' });
    return false;
  }

  isUnknown(lock: HeldLock): boolean {
    return !this.isHeld(lock) && this.#ended.get(lockId(lock)) === undefined;
  }

  lossOf(lock: HeldLock): LostLock | undefined {
    const ending = this.#ended.get(lockId(lock));
    return typeof ending === 'object' ? ending : undefined;
  }

  list(sessionId?: unknown): readonly HeldLock[] {
    const locks = [...this.#held.values()].map(({ lock }) => lock);
    return locks.filter(({ session_id }) => sessionId === undefined || session_id === sessionId);
  }

  /**
   * Calls back when the lock is lost, before any other listener; returns a function that stops it.
   */
  watch(lock: HeldLock, onLost: (lost: LostLock) => void): () => void {
    this.#watchers.set(lockId(lock), onLost);
    return () => this.#watchers.delete(lockId(lock));
  }

  /** Until then, by `performance.now()`; without it until it ends in another way. */
  keep(lock: HeldLock, until = Number.POSITIVE_INFINITY): void {
    if (this.#ended.get(lockId(lock)) !== undefined) return;
    this.#drop(lock);
    const ms = Math.max(0, until - performance.now());
    const end = () => this.lose({ ...lock, reason: 'expired' });
    const timer = Number.isFinite(ms) ? setTimeout(end, ms).unref() : undefined;
    this.#held.set(lockId(lock), { lock, until, timer });
  }

  giveUp(lock: HeldLock, how: 'releasing' | 'given up' = 'given up'): void {
    const wasHeld = this.isHeld(lock);
    this.#drop(lock);
    if (this.lossOf(lock) === undefined) this.#ended.set(lockId(lock), wasHeld ? how : 'given up');
  }

  lose(lost: LostLock): void {
    this.#drop(lost);
    const ending = this.#ended.get(lockId(lost));
    if (ending !== undefined && ending !== 'releasing') return;
    this.#ended.set(lockId(lost), lost);
    this.#watchers.get(lockId(lost))?.(lost);
    this.#onLost(lost);
  }

  loseIfHeld(lock: HeldLock, reason: string): void {
    if (this.isHeld(lock)) this.lose({ ...lock, reason });
  }

  #drop(lock: HeldLock): void {
    clearTimeout(this.#held.get(lockId(lock))?.timer);
    this.#held.delete(lockId(lock));
  }
}

export function lockId({ session_id, resource, lock_token }: HeldLock): string {
  return `${session_id}\n${resource}\n${lock_token}`;
}

/** A request for a lock that was answered by a place in the queue. */
export interface Ticket {
  readonly session_id: string;
  readonly resource: string;
  readonly ticket: string;
}

export interface OpenTicket extends Ticket {
  readonly ttlMs: number;
}

/** Those whose turn has not come, and what the others were granted. */
export class Tickets {
  readonly #open = new Map<string, OpenTicket>();
  readonly #locks = new RecentMap<HeldLock>(REMEMBERED);

  /** Gives the lock if its grant came before the ticket itself. */
  open(opened: OpenTicket): HeldLock | undefined {
    const lock = this.#locks.get(opened.ticket);
    if (lock) return lock;
    this.#open.set(opened.ticket, opened);
    const [oldest] = this.#open.keys();
    if (this.#open.size > REMEMBERED && oldest !== undefined) this.#open.delete(oldest);
    return undefined;
  }

  /** Gives what was asked for, if the ticket was open. */
  grant(ticket: string, lock: HeldLock): OpenTicket | undefined {
    const opened = this.#open.get(ticket);
    this.#open.delete(ticket);
    this.#locks.set(ticket, lock);
    return opened;
  }

  /** False when it was not open. */
  close(ticket: string): boolean {
    return this.#open.delete(ticket);
  }

  isOpen(ticket: string): boolean {
    return this.#open.has(ticket);
  }

  lockOf(ticket: string): HeldLock | undefined {
    return this.#locks.get(ticket);
  }

  /** The open ones of a session, or all. */
  list(sessionId?: unknown): readonly OpenTicket[] {
    const all = [...this.#open.values()];
    return all.filter(({ session_id }) => sessionId === undefined || session_id === sessionId);
  }
}

/** The token is stale, or there is no such session for the agent. */
export function isGone(error: unknown): boolean {
  const code = rpcCodeOf(error);
  return code === STALE || code === NOT_FOUND;
}

export interface LockName {
  readonly session_id: string;
  readonly resource: string;
}

export function lockLost(lost: LostLock): FabricError {
  const { session_id, resource, lock_token, reason } = lost;
  const what = { session_id, resource, lock_token, reason };
  return failure('lease_lost', { resource, why: reason, lost: what });
}
