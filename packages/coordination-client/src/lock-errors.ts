// Why a lock is not there, as the server would say it where the server is not asked.

import { FabricError } from '@starloom/core';
import type { LostLock } from './known-locks.ts';
import { rpcCodeOf } from './rpc-error.ts';

const LOCK_HELD = -32014;
const STALE = -32015;
const NOT_FOUND = -32004;

/** The token is stale, or there is no such session for the agent. */
export function isGone(error: unknown): boolean {
  const code = rpcCodeOf(error);
  return code === STALE || code === NOT_FOUND;
}

export interface LockName {
  readonly session_id: string;
  readonly resource: string;
}

export function lockLost({ session_id, resource, lock_token, reason }: LostLock): FabricError {
  return new FabricError('POLICY_DENIED', `The lock of "${resource}" was lost: ${reason}`, {
    details: {
      rpc: STALE,
      reason: 'lease_lost',
      lost: { session_id, resource, lock_token, reason },
      fix: 'look what stands there, then do the work again under a new lock',
    },
  });
}

/** Other works of the same client had it for as long as this one would wait. */
export function heldByOwnWork({ session_id, resource }: LockName, holder: string): FabricError {
  return new FabricError('OVERLOADED', `"${resource}" is locked by other work of "${holder}"`, {
    details: {
      rpc: LOCK_HELD,
      reason: 'lock_held',
      session_id,
      resource,
      holder,
      fix: 'ask with a longer wait_ms, or do less at once under one lock',
    },
  });
}

/** Work that asks for the lock which it is done under. */
export function lockedAgain({ session_id, resource }: LockName): FabricError {
  return new FabricError('POLICY_DENIED', `This work has the lock of "${resource}" already`, {
    details: {
      rpc: LOCK_HELD,
      reason: 'deadlock',
      session_id,
      resource,
      fix: 'go on with the lock_token that the work was given',
    },
  });
}
