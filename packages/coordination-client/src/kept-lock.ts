import { FabricError, type Log } from '@starloom/core';
import type { HeldLock } from './held-locks.ts';
import type { KnownLocks } from './known-locks.ts';
import { isGone, lockLost } from './lock-errors.ts';
import type { LockService } from './services.ts';

export interface KeptLockOptions {
  readonly lock: HeldLock;
  readonly ttlMs: number;
  readonly locks: LockService;
  readonly known: KnownLocks;
  readonly log: Log;
}

const RENEWALS = 3;

/** Renews a lock until it is given back, and aborts when it is lost. */
export class KeptLock implements Disposable {
  readonly #options: KeptLockOptions;
  readonly #lost = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #unwatch: () => void;

  constructor(options: KeptLockOptions) {
    const { lock, ttlMs, known } = options;
    this.#options = options;
    this.#timer = setInterval(() => void this.#renewOrLog(), ttlMs / RENEWALS).unref();
    this.#unwatch = known.watch(lock, (lost) => this.#lost.abort(lockLost(lost)));
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  readonly assertHeld = (): void => {
    const { known, lock } = this.#options;
    const isHeld = known.isHeld(lock);
    this.signal.throwIfAborted();
    if (!isHeld) throw lockLost({ ...lock, reason: 'given_up' });
  };

  /** It may have been given up by the work itself. */
  assertNotLost(): void {
    this.#options.known.isHeld(this.#options.lock);
    this.signal.throwIfAborted();
  }

  async renew(): Promise<void> {
    const { locks, lock, ttlMs } = this.#options;
    await locks.renew({ ...lock, ttl_ms: ttlMs });
  }

  /**
   * Throws when it turns out that it was lost. The client gives a lost lock back, too, since a
   * renewal on its way may hold it for longer; but no caller waits for that.
   */
  async giveBack(): Promise<void> {
    clearInterval(this.#timer);
    const released = this.#release();
    if (this.signal.aborted) return;
    await released;
    this.signal.throwIfAborted();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#unwatch();
  }

  /** What was done under it is done, whatever comes of this: it ends with its lease at the latest. */
  async #release(): Promise<void> {
    const { locks, lock } = this.#options;
    await locks.release(lock).catch((error: unknown) => {
      if (isGone(error)) return;
      this.#log(error, 'coordination: a lock was not given back; it ends with its lease');
    });
  }

  async #renewOrLog(): Promise<void> {
    await this.renew().catch((error: unknown) => {
      this.#log(error, 'coordination: a lock was not renewed');
    });
  }

  #log(thrown: unknown, text: string): void {
    this.#options.log.warn({ error: FabricError.from(thrown), ...this.#options.lock }, text);
  }
}
