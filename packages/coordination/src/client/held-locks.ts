/** A lock that this client has. */
export interface HeldLock {
  readonly session_id: string;
  readonly resource: string;
  readonly lock_token: number;
}

/** What the client holds, as far as answers and pushes tell. */
export class HeldLocks {
  readonly #locks = new Map<string, HeldLock>();

  add(lock: HeldLock): void {
    this.#locks.set(idOf(lock), lock);
  }

  /** False when it was not known. */
  remove(lock: HeldLock): boolean {
    return this.#locks.delete(idOf(lock));
  }

  removeAll(): readonly HeldLock[] {
    const locks = [...this.#locks.values()];
    this.#locks.clear();
    return locks;
  }
}

function idOf({ session_id, resource, lock_token }: HeldLock): string {
  return `${session_id}\n${resource}\n${lock_token}`;
}
