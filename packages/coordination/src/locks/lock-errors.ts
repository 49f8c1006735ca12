import type { FabricError } from '@starloom/core';
import { fromHolder } from '../agents/caller.ts';
import type { Lease, LeaseMode } from '../coordination-store.ts';
import { refuse } from '../errors.ts';

export interface LockName {
  readonly resource: string;
  readonly token: number;
}

/** To the holder `own`, to whom it may be its own lock. */
export function lockHeld(
  resource: string,
  leases: readonly Lease[],
  own: string | undefined,
): FabricError {
  const held = leases.filter(({ holder }) => holder === own);
  if (held.length > 0) {
    return refuse('lock_held', `You hold the lock of "${resource}" already`, {
      resource,
      ...present(held),
      fix: 'go on with the lock_token that you have (memory_locker.renew), or release it first',
    });
  }
  return refuse('lock_held', notFree(resource, leases), {
    resource,
    ...present(leases),
    fix: 'memory_locker.acquire with wait_ms stands in the queue',
  });
}

/** The time to wait is over. */
export function waitedInVain(
  resource: string,
  leases: readonly Lease[],
  waitMs: number,
): FabricError {
  return refuse('lock_held', `${notFree(resource, leases)}, also after ${waitMs} ms`, {
    resource,
    waited_ms: waitMs,
    ...present(leases),
    fix: 'ask again, or wait for longer',
  });
}

/** The waiting agent, or a caller in its name, gave the place up before its turn. */
export function placeGivenUp(
  { resource, ticket }: { readonly resource: string; readonly ticket: string },
  leases: readonly Lease[],
): FabricError {
  return refuse('lock_held', `The place in the queue of "${resource}" was given up`, {
    resource,
    ticket,
    cancelled: true,
    ...present(leases),
    fix: 'ask again if the lock is still needed',
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

function notFree(resource: string, leases: readonly Lease[]): string {
  const { holder } = present(leases);
  return `"${resource}" is ${holder === undefined ? 'not free' : `locked by "${holder}"`}`;
}

/** Who stands in the way, and until when at most. */
function present(leases: readonly Lease[]): {
  readonly holder?: string;
  readonly expires_at?: number;
  readonly mode?: LeaseMode;
} {
  const [first] = leases;
  if (first === undefined) return {};
  return {
    holder: fromHolder(first.holder).agentId,
    expires_at: Math.max(...leases.map(({ expiresAt }) => expiresAt)),
    mode: first.mode,
  };
}
