import type { FabricError, Lease } from '@starloom/core';
import { fromHolder } from '../agents/caller.ts';
import { refuse } from '../errors.ts';

export interface LockName {
  readonly resource: string;
  readonly token: number;
}

export function lockHeld(resource: string, leases: readonly Lease[]): FabricError {
  return refuse('lock_held', `"${resource}" is locked by somebody else`, {
    resource,
    ...present(leases),
    fix: 'ask with wait_ms to stand in the queue',
  });
}

export function lockRequired(resource: string, leases: readonly Lease[]): FabricError {
  return refuse('lock_required', 'This needs the exclusive lock of the context', {
    resource,
    ...present(leases),
    fix: 'send lock_token from memory_locker.acquire, or with_lock: true',
  });
}

export function staleToken({ resource, token }: LockName, leases: readonly Lease[]): FabricError {
  return refuse('stale_token', `The lock token ${token} of "${resource}" is not valid (any more)`, {
    resource,
    lock_token: token,
    ...present(leases),
    fix: 'acquire the lock again, read what changed, then write',
  });
}

/** Who stands in the way, and until when at most. */
function present(leases: readonly Lease[]) {
  const [first] = leases;
  if (first === undefined) return {};
  return {
    holder: fromHolder(first.holder).agentId,
    expires_at: Math.max(...leases.map(({ expiresAt }) => expiresAt)),
    mode: first.mode,
  };
}
