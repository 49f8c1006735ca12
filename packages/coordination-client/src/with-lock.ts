import { FabricError, type Log } from '@starloom/core';
import type { CoordinationClient } from './client.ts';
import { KeptLock } from './kept-lock.ts';
import type { KnownLocks } from './known-locks.ts';
import { leaseMargin } from './leases.ts';
import { heldByOwnWork, type LockName, lockedAgain } from './lock-errors.ts';
import type { GrantedLock } from './services.ts';
import type { WorkTurns } from './turns.ts';
import type { WorkScope } from './work-scope.ts';

export interface LockParams {
  readonly session_id: string;
  readonly resource?: string;
  readonly mode?: 'exclusive' | 'shared';
  readonly ttl_ms?: number;
  /** How long to wait for the lock, also behind other work of this client; by default a minute. */
  readonly wait_ms?: number;
  readonly priority?: number;
}

export interface Lock {
  readonly lock_token: number;
  /**
   * Aborts when the lock is lost, or its time is over and no renewal is confirmed: whatever is written
   * under it then would be refused. It does so by a timer, which is late when the process was busy
   * or stopped.
   */
  readonly signal: AbortSignal;
  /**
   * Throws when the lock is lost, by the clock and at once. To be called right before something is
   * written that the server cannot refuse.
   */
  readonly assertHeld: () => void;
}

export type LockedWork<Result> = (lock: Lock) => Promise<Result>;

export interface LockHolder {
  readonly client: CoordinationClient;
  readonly known: KnownLocks;
  readonly turns: WorkTurns;
  readonly scope: WorkScope;
  readonly log: Log;
}

const TTL_MS = 30_000;
const WAIT_MS = 60_000;
const CONTEXT = 'context';

/** Rejects when the lock was lost meanwhile, once the work has ended, whatever came of it. */
export async function withLock<Result>(
  holder: LockHolder,
  { resource = CONTEXT, ttl_ms = TTL_MS, wait_ms = WAIT_MS, ...params }: LockParams,
  work: LockedWork<Result>,
): Promise<Result> {
  const asked: AskedLock = { ...params, resource, ttl_ms, wait_ms };
  if (holder.scope.has(nameOf(asked))) throw lockedAgain(asked);
  using taken = await takeLock(holder, asked);
  const { lock_token } = taken.granted;
  const lock = { session_id: params.session_id, resource, lock_token };
  const { known, log } = holder;
  using kept = new KeptLock({ lock, ttlMs: ttl_ms, locks: holder.client.locks, known, log });
  const { signal, assertHeld } = kept;
  try {
    if (taken.isTimeUnsure) await kept.renew();
    assertHeld();
    const given: Lock = { lock_token, signal, assertHeld };
    const result = await holder.scope.run(nameOf(asked), () => work(given));
    kept.assertNotLost();
    return result;
  } catch (error) {
    kept.assertNotLost();
    throw error;
  } finally {
    await kept.giveBack();
  }
}

type AskedLock = LockParams & LockName & Required<Pick<LockParams, 'ttl_ms' | 'wait_ms'>>;

interface TakenLock extends Disposable {
  readonly granted: GrantedLock;
  /** It took so long that much of the lease may be over. */
  readonly isTimeUnsure: boolean;
}

/**
 * To the server an agent is one. It would refuse an agent that waits for itself, so its exclusive
 * works take turns here. Those that share are inside together, each by a lease of its own; one
 * that would wait for another agent, who waits for them, waits here until they have ended.
 */
async function takeLock(holder: LockHolder, asked: AskedLock): Promise<TakenLock> {
  const waitUntil = performance.now() + asked.wait_ms;
  if (asked.mode !== 'shared')
    return await takeInTurn(holder, asked, { isShared: false, waitUntil });
  try {
    return await takeInTurn(holder, asked, { isShared: true, waitUntil });
  } catch (error) {
    if (!isDeadlock(error)) throw error;
    return await takeInTurn(holder, asked, { isShared: false, waitUntil });
  }
}

async function takeInTurn(
  { turns, client }: LockHolder,
  asked: AskedLock,
  { isShared, waitUntil }: { readonly isShared: boolean; readonly waitUntil: number },
): Promise<TakenLock> {
  const left = () => Math.ceil(Math.max(0, waitUntil - performance.now()));
  const turn = await turns.take({ name: nameOf(asked), isShared, waitMs: left() });
  if (turn === undefined) throw heldByOwnWork(asked, client.agentId);
  const askedAt = performance.now();
  try {
    const granted = await client.locks.acquire({ ...asked, wait_ms: left() });
    const isTimeUnsure = performance.now() - askedAt > leaseMargin(asked.ttl_ms);
    return { granted, isTimeUnsure, [Symbol.dispose]: () => turn[Symbol.dispose]() };
  } catch (error) {
    turn[Symbol.dispose]();
    throw error;
  }
}

function isDeadlock(error: unknown): boolean {
  return FabricError.is(error) && error.details.reason === 'deadlock';
}

function nameOf({ session_id, resource }: LockName): string {
  return `${session_id}\n${resource}`;
}
