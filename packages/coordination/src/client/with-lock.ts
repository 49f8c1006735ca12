import { FabricError, type Log } from '@starloom/core';
import type { CoordinationClient } from './client.ts';
import type { HeldLock } from './held-locks.ts';
import { type LostLock, leaseMargin } from './leases.ts';
import { rpcCodeOf } from './rpc-error.ts';

export interface LockParams {
  readonly session_id: string;
  readonly resource?: string;
  readonly mode?: 'exclusive' | 'shared';
  readonly ttl_ms?: number;
  /** How long to wait for the lock; by default a minute. */
  readonly wait_ms?: number;
  readonly priority?: number;
}

export interface Lock {
  readonly lock_token: number;
  /**
   * Aborts when the lock is lost, or its time is over and no renewal is confirmed: whatever is written
   * under it then would be refused.
   */
  readonly signal: AbortSignal;
}

export type LockedWork<Result> = (lock: Lock) => Promise<Result>;

const TTL_MS = 30_000;
const WAIT_MS = 60_000;
const RENEWALS = 3;
const STALE = -32015;

export interface LockHolder {
  readonly client: CoordinationClient;
  readonly log: Log;
}

/** Rejects when the lock was lost meanwhile, once the work has ended, whatever came of it. */
export async function withLock<Result>(
  holder: LockHolder,
  { ttl_ms = TTL_MS, wait_ms = WAIT_MS, ...params }: LockParams,
  work: LockedWork<Result>,
): Promise<Result> {
  const askedAt = performance.now();
  const granted = await holder.client.locks.acquire({ ...params, ttl_ms, wait_ms });
  const { lock_token, resource } = granted;
  const lock = { session_id: params.session_id, resource, lock_token };
  const isTimeUnsure = performance.now() - askedAt > leaseMargin(ttl_ms);
  using kept = new KeptLock(holder, lock, ttl_ms);
  const { signal } = kept;
  try {
    if (isTimeUnsure) await kept.renew();
    signal.throwIfAborted();
    const result = await work({ lock_token, signal });
    signal.throwIfAborted();
    return result;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    await kept.giveBack();
  }
}

/** Renews a lock until it is disposed, and aborts when it is lost. */
class KeptLock implements Disposable {
  readonly #holder: LockHolder;
  readonly #lock: HeldLock;
  readonly #ttlMs: number;
  readonly #lost = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(holder: LockHolder, lock: HeldLock, ttlMs: number) {
    this.#holder = holder;
    this.#lock = lock;
    this.#ttlMs = ttlMs;
    this.#timer = setInterval(() => void this.#renewOrLog(), ttlMs / RENEWALS).unref();
    holder.client.on('lease_lost', this.#onLost);
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  async renew(): Promise<void> {
    await this.#holder.client.locks.renew({ ...this.#lock, ttl_ms: this.#ttlMs });
  }

  /**
   * A lost one is given back, too, since a renewal on its way may hold it for longer; but nobody
   * waits for that.
   */
  async giveBack(): Promise<void> {
    this[Symbol.dispose]();
    const released = this.#release();
    if (!this.signal.aborted) return await released;
    released.catch((error: unknown) => this.#log(error, 'coordination: a lock was not given back'));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#holder.client.off('lease_lost', this.#onLost);
  }

  readonly #onLost = (lost: LostLock): void => {
    const { session_id, resource, lock_token } = this.#lock;
    const isThis = lost.lock_token === lock_token && lost.resource === resource;
    if (isThis && lost.session_id === session_id) this.#lost.abort(lockLost(lost));
  };

  async #renewOrLog(): Promise<void> {
    await this.renew().catch((error: unknown) => {
      this.#log(error, 'coordination: a lock was not renewed');
    });
  }

  /** One that is gone already need not be released. */
  async #release(): Promise<void> {
    try {
      await this.#holder.client.locks.release(this.#lock);
    } catch (error) {
      if (rpcCodeOf(error) !== STALE) throw error;
    }
  }

  #log(thrown: unknown, text: string): void {
    this.#holder.log.info({ error: FabricError.from(thrown), ...this.#lock }, text);
  }
}

function lockLost({ session_id, resource, lock_token, reason }: LostLock): FabricError {
  return new FabricError('POLICY_DENIED', `The lock of "${resource}" was lost: ${reason}`, {
    details: {
      rpc: STALE,
      reason: 'lease_lost',
      lost: { session_id, resource, lock_token, reason },
      fix: 'look what stands there, then do the work again under a new lock',
    },
  });
}
