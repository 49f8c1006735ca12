// What the client holds. Each lock ends by the client's own clock unless the client renews it
// before: no answer and no push is needed to know that its time is over. A timer reports the end. A
// caller that asks gets the clock itself, since a timer is late when the process was busy or
// stopped.

/** A lock that this client has. */
export interface HeldLock {
  readonly session_id: string;
  readonly resource: string;
  readonly lock_token: number;
}

interface Held {
  readonly lock: HeldLock;
  readonly until: number;
  readonly timer: NodeJS.Timeout | undefined;
}

export class HeldLocks {
  readonly #locks = new Map<string, Held>();
  readonly #onEnd: (lock: HeldLock) => void;

  constructor(onEnd: (lock: HeldLock) => void) {
    this.#onEnd = onEnd;
  }

  /** Until then, by `performance.now()`; without it until it is dropped. */
  hold(lock: HeldLock, until = Number.POSITIVE_INFINITY): void {
    this.drop(lock);
    const ms = Math.max(0, until - performance.now());
    const timer = Number.isFinite(ms) ? setTimeout(() => this.#end(lock), ms).unref() : undefined;
    this.#locks.set(lockId(lock), { lock, until, timer });
  }

  /** Ends it first when its time is over. */
  has(lock: HeldLock): boolean {
    const held = this.#locks.get(lockId(lock));
    if (held === undefined) return false;
    if (performance.now() < held.until) return true;
    this.#end(lock);
    return false;
  }

  /** False when it was not held. */
  drop(lock: HeldLock): boolean {
    clearTimeout(this.#locks.get(lockId(lock))?.timer);
    return this.#locks.delete(lockId(lock));
  }

  /** Those of a session, or all. */
  list(sessionId?: unknown): readonly HeldLock[] {
    const locks = [...this.#locks.values()].map(({ lock }) => lock);
    return locks.filter(({ session_id }) => sessionId === undefined || session_id === sessionId);
  }

  #end(lock: HeldLock): void {
    if (this.drop(lock)) this.#onEnd(lock);
  }
}

export function lockId({ session_id, resource, lock_token }: HeldLock): string {
  return `${session_id}\n${resource}\n${lock_token}`;
}
