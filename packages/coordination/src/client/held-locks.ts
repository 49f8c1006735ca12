// What the client holds. Each lock ends by the client's own clock unless it is held anew before: no
// answer and no push is needed to know that its time is over.

/** A lock that this client has. */
export interface HeldLock {
  readonly session_id: string;
  readonly resource: string;
  readonly lock_token: number;
}

interface Held {
  readonly lock: HeldLock;
  readonly timer: NodeJS.Timeout | undefined;
}

export class HeldLocks {
  readonly #locks = new Map<string, Held>();
  readonly #onEnd: (lock: HeldLock) => void;

  constructor(onEnd: (lock: HeldLock) => void) {
    this.#onEnd = onEnd;
  }

  /** Until then, by `performance.now()`; without it until it is dropped. */
  hold(lock: HeldLock, until?: number): void {
    this.drop(lock);
    const end = () => this.drop(lock) && this.#onEnd(lock);
    const timer =
      until === undefined
        ? undefined
        : setTimeout(end, Math.max(0, until - performance.now())).unref();
    this.#locks.set(lockId(lock), { lock, timer });
  }

  has(lock: HeldLock): boolean {
    return this.#locks.has(lockId(lock));
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
}

export function lockId({ session_id, resource, lock_token }: HeldLock): string {
  return `${session_id}\n${resource}\n${lock_token}`;
}
