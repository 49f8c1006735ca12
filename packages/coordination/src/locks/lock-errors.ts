import type { FabricError, Lease } from '@starloom/core';
import { fromHolder } from '../agents/caller.ts';
import { refuse } from '../errors.ts';

export interface LockName {
  readonly resource: string;
  readonly token: number;
}

/** To the holder `own`, if it is known who asks. */
export function lockHeld(resource: string, leases: readonly Lease[], own?: string): FabricError {
  const isOwn = leases.some(({ holder }) => holder === own);
  const shown = present(leases);
  const by = 'holder' in shown ? `locked by "${shown.holder}"` : 'not free';
  const message = isOwn ? `You hold the lock of "${resource}" already` : `"${resource}" is ${by}`;
  return refuse('lock_held', message, {
    resource,
    ...shown,
    fix: isOwn
      ? 'go on with the lock_token that you have, or release it first'
      : 'ask with wait_ms to stand in the queue',
  });
}

/** Whoever stood there, or somebody in its name, gave the place up before it was its turn. */
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
