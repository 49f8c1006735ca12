import { FabricError, type Log } from '@starloom/core';
import { type HeldLock, lockId } from './held-locks.ts';
import type { Send } from './link.ts';
import { isGone } from './lock-errors.ts';
import { rpcCodeOf } from './rpc-error.ts';
import type { MethodResult } from './services.ts';

/** What the agent has in a session, as the server sees it. */
export interface LockStatus {
  readonly locks: ReadonlyMap<string, HeldLock>;
  readonly tickets: ReadonlySet<string>;
}

const NOTHING: LockStatus = { locks: new Map(), tickets: new Set() };

/** `undefined` when the server cannot say; throws when it was not reached. */
export async function readLockStatus(
  send: Send,
  session_id: string,
  log: Log,
): Promise<LockStatus | undefined> {
  try {
    return toStatus(session_id, await send('memory_locker.status', { session_id }));
  } catch (thrown) {
    if (isGone(thrown)) return NOTHING;
    if (rpcCodeOf(thrown) === undefined) throw thrown;
    const error = FabricError.from(thrown);
    log.warn({ error, session_id }, 'coordination: locks could not be confirmed');
    return undefined;
  }
}

/** Tokens and tickets are shown to their owner only. */
function toStatus(session_id: string, answer: unknown): LockStatus {
  const { locks, waiting } = answer as MethodResult<'memory_locker.status'>;
  const own = locks.flatMap(({ resource, lock_token }) =>
    lock_token === undefined ? [] : [{ session_id, resource, lock_token }],
  );
  return {
    locks: new Map(own.map((lock) => [lockId(lock), lock])),
    tickets: new Set(waiting.flatMap(({ ticket }) => ticket ?? [])),
  };
}
