import { FabricError } from '@starloom/core';
import type { CoordinationClient } from './client.ts';
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
  /** Aborts when the lock is lost: whatever is written under it then would be refused. */
  readonly signal: AbortSignal;
}

export type LockedWork<Result> = (lock: Lock) => Promise<Result>;

const TTL_MS = 30_000;
const WAIT_MS = 60_000;
const RENEWALS = 3;
const STALE = -32015;

export async function withLock<Result>(
  client: CoordinationClient,
  { ttl_ms = TTL_MS, wait_ms = WAIT_MS, ...params }: LockParams,
  work: LockedWork<Result>,
): Promise<Result> {
  const granted = await client.locks.acquire({ ...params, ttl_ms, wait_ms });
  if (!('lock_token' in granted)) throw new FabricError('INTERNAL', 'A lock without a token');
  const { lock_token, resource } = granted;
  const lock = { session_id: params.session_id, resource, lock_token };
  const lost = new AbortController();
  const lose = () => lost.abort(new FabricError('CANCELLED', 'The lock was lost'));
  const onLost = (event: { lock_token: number; session_id: string }) => {
    if (event.lock_token === lock_token && event.session_id === params.session_id) lose();
  };
  const renew = () => {
    client.locks.renew({ ...lock, ttl_ms }).catch((error: unknown) => {
      if (rpcCodeOf(error) === STALE) lose();
    });
  };
  client.on('lease_lost', onLost);
  const timer = setInterval(renew, ttl_ms / RENEWALS).unref();
  try {
    return await work({ lock_token, signal: lost.signal });
  } finally {
    clearInterval(timer);
    client.off('lease_lost', onLost);
    if (!lost.signal.aborted) await release(client, lock);
  }
}

/** One that is gone already need not be released. */
async function release(
  client: CoordinationClient,
  lock: { session_id: string; resource: string; lock_token: number },
): Promise<void> {
  try {
    await client.locks.release(lock);
  } catch (error) {
    if (rpcCodeOf(error) !== STALE) throw error;
  }
}
