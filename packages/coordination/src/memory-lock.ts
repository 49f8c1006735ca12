// Locks of a session. The store keeps leases, tokens and queues, and checks tokens inside writes;
// this checks the rights of the caller, waits for a turn without polling, and refuses a wait that would never end.

import { type Json, RecentMap } from '@starloom/core';
import { type Caller, fromHolder, idempotencyOf } from './agents/caller.ts';
import type { Lease, LeaseMode } from './coordination-store.ts';
import { LogWatch } from './feed/event-feed.ts';
import {
  awaitTurn,
  cancelPlace,
  concernsPlace,
  giveUp,
  inTheWay,
  lockHeld,
  refuseDeadlock,
} from './locks/lock-queue.ts';
import type { AcquireRequest } from './methods/memory-locker.ts';
import { Meter } from './quota/meter.ts';
import { failure } from './reasons.ts';
import type { Services } from './services.ts';
import type { Access, Need } from './session/session-access.ts';

/** The lock that an update of the context needs. */
export const CONTEXT_RESOURCE = 'context';

type MemoryLockOptions = Pick<
  Services,
  'store' | 'clock' | 'limits' | 'budgets' | 'access' | 'feeds'
>;

export type Acquired =
  | { readonly lease: Lease }
  | { readonly queued: { readonly ticket: string; readonly position: number } };

export interface BreakTarget {
  readonly resource?: string | undefined;
  readonly lock_token?: number | undefined;
  readonly holder?: string | undefined;
}

export type LockName = Pick<Lease, 'resource' | 'token'>;

const REMEMBERED = 10_000;

export class MemoryLock {
  readonly #options: MemoryLockOptions;
  readonly #meter: Meter;
  readonly #places: Meter;
  /** A token belongs to one lease for ever, so what is known of it cannot become wrong. */
  readonly #tokens = new RecentMap<Pick<Lease, 'holder' | 'mode'>>(REMEMBERED);

  constructor(options: MemoryLockOptions) {
    this.#options = options;
    const fix = 'release locks that are not needed';
    const { limits, clock } = options;
    this.#meter = new Meter({ limits, entries: 'locks_per_session', fix });
    const later = 'ask again later, or without wait_ms';
    this.#places = new Meter({ limits, clock, entries: 'waits_per_resource', fix: later });
  }

  async acquire(caller: Caller, request: AcquireRequest): Promise<Acquired> {
    const { store, access, feeds, budgets } = this.#options;
    const role = request.mode === 'shared' ? 'reader' : 'writer';
    const need: Need = { role, state: 'active' };
    const admitted = await access.recent(caller, request.session_id, need);
    await this.#reserve(admitted.partition);
    if (request.wait_ms > 0) await this.#reservePlace(admitted.partition, request.resource);
    budgets.note(admitted.meta.principal);
    const isWaiting = request.wait_ms > 0 && !request.async;
    using _ = isWaiting ? budgets.run(caller.principalId, 'waits_per_principal') : undefined;
    let ticket: string | undefined;
    const isNews = (event: Json) => concernsPlace(event, caller.agentId, ticket);
    using watch = isWaiting ? await LogWatch.open(feeds, admitted.partition, isNews) : undefined;
    const answer = await store.acquire(admitted.partition, toLeaseRequest(admitted, request));
    if ('reused' in answer) throw failure('idempotency_key_reused');
    if ('heldBy' in answer) {
      await this.#assertStill(admitted, need);
      throw lockHeld(request.resource, answer.heldBy, admitted.holder);
    }
    if ('lease' in answer) return { lease: await this.#keep(admitted, answer.lease, need) };
    ticket = answer.queued.ticket;
    const place = { partition: admitted.partition, resource: request.resource, ticket };
    await refuseDeadlock(store, place, admitted.holder);
    if (watch === undefined) {
      await this.#assertStill(admitted, need).catch(async (error: unknown) => {
        await giveUp(store, place);
        throw error;
      });
      return answer;
    }
    const lease = await awaitTurn(store, place, {
      principalId: caller.principalId,
      watch,
      waitMs: request.wait_ms,
      signal: caller.signal,
      assertAllowed: () => this.#assertStill(admitted, need),
    });
    return { lease: await this.#keep(admitted, lease, need) };
  }

  async renew(caller: Caller, sessionId: string, lock: LockName, ttlMs: number): Promise<Lease> {
    const { store, access } = this.#options;
    const admitted = await access.recent(caller, sessionId, { role: 'reader', state: 'active' });
    await this.assertHolder(admitted, lock);
    const lease = await store.renew(admitted.partition, lock, ttlMs);
    if (lease === undefined) throw await this.#stale(admitted, lock);
    return lease;
  }

  async release(caller: Caller, sessionId: string, lock: LockName): Promise<{ released: true }> {
    const { store, access } = this.#options;
    const admitted = await access.recent(caller, sessionId, { role: 'reader' });
    await this.assertHolder(admitted, lock);
    const { released } = await store.release(admitted.partition, lock);
    if (!released) throw await this.#stale(admitted, lock);
    return { released };
  }

  /** Gives up a place in the queue; a lock that was granted meanwhile is released. */
  async cancel(caller: Caller, sessionId: string, ticket: string): Promise<boolean> {
    const { store, access } = this.#options;
    const { partition, holder } = await access.fresh(caller, sessionId, { role: 'reader' });
    const isOwn = (entry: { ticket?: string; holder: string }) =>
      entry.ticket === ticket && entry.holder === holder;
    const lease = (await store.leases(partition)).find(isOwn);
    if (lease) return (await store.release(partition, lease)).released;
    const place = (await store.waiting(partition)).find(isOwn);
    if (place === undefined) return false;
    if (await cancelPlace(store, { partition, ...place }, caller.agentId)) return true;
    return await this.cancel(caller, sessionId, ticket);
  }

  async status(caller: Caller, sessionId: string, resource?: string) {
    const { store, access } = this.#options;
    const admitted = await access.fresh(caller, sessionId, { role: 'reader' });
    const [leases, waiting] = await Promise.all([
      store.leases(admitted.partition, resource),
      store.waiting(admitted.partition, resource),
    ]);
    return { holder: admitted.holder, leases, waiting };
  }

  /** Forcibly ends leases. For owners; the log says which owner did it. */
  async break(caller: Caller, sessionId: string, target: BreakTarget): Promise<readonly Lease[]> {
    const { store, access } = this.#options;
    const { partition } = await access.fresh(caller, sessionId, { role: 'owner' });
    const leases = (await store.leases(partition, target.resource)).filter(
      ({ token, holder }) =>
        (target.lock_token === undefined || token === target.lock_token) &&
        (target.holder === undefined || fromHolder(holder).agentId === target.holder),
    );
    const broken: Lease[] = [];
    for (const lease of leases) {
      const { released } = await store.breakLease(partition, lease.resource, lease.token);
      if (!released) continue;
      broken.push(lease);
      const { resource, holder, token } = lease;
      const event = { type: 'lock.broken', agent_id: caller.agentId, resource, holder, token };
      await store.commit(partition, { writes: [], event });
    }
    return broken;
  }

  /** Refuses a token that was never granted to the caller under this epoch. */
  assertHolder(access: Access, lock: LockName): Promise<LeaseMode> | LeaseMode {
    const known = this.#tokens.get(tokenId(access.partition, lock.resource, lock.token));
    return known?.holder === access.holder ? known.mode : this.#findMode(access, lock);
  }

  async #findMode(access: Access, { resource, token }: LockName): Promise<LeaseMode> {
    const leases = await this.heldBy(access, resource);
    const lease = leases.find((held) => held.token === token && held.holder === access.holder);
    if (lease === undefined) throw await this.#stale(access, { resource, token });
    this.#remember(access.partition, lease);
    return lease.mode;
  }

  /** The holders of the lock now, for an answer to a caller that does not hold it. */
  async heldBy({ partition }: Access, resource: string): Promise<readonly Lease[]> {
    return await this.#options.store.leases(partition, resource);
  }

  async #reserve(partition: string): Promise<void> {
    const { store } = this.#options;
    await this.#meter.reserveOne(partition, async () => {
      const lists = [store.leases(partition), store.waiting(partition)];
      return (await Promise.all(lists)).flat().length;
    });
  }

  async #reservePlace(partition: string, resource: string): Promise<void> {
    const { store } = this.#options;
    await this.#places.reserveOne(`${partition}\n${resource}`, async () => {
      return (await store.waiting(partition, resource)).length;
    });
  }

  /**
   * The caller may have lost its place in the session, or its registration, while the lock was
   * granted.
   */
  async #keep(admitted: Access, lease: Lease, need: Need): Promise<Lease> {
    const { store } = this.#options;
    try {
      admitted.caller.signal?.throwIfAborted();
      await this.#assertStill(admitted, need);
    } catch (error) {
      await store.release(admitted.partition, lease);
      throw error;
    }
    this.#remember(admitted.partition, lease);
    return lease;
  }

  /** The caller, under the same epoch, has all that it needs, as the store has it now. */
  async #assertStill({ caller, sessionId, member }: Access, need: Need): Promise<void> {
    const sameEpoch = { ...caller, epoch: member.epoch };
    await this.#options.access.fresh(sameEpoch, sessionId, need);
  }

  async #stale(access: Access, { resource, token: lock_token }: LockName) {
    const leases = await this.heldBy(access, resource);
    return failure('stale_token/lock', { resource, lock_token, ...inTheWay(leases) });
  }

  #remember(partition: string, { resource, token, holder, mode }: Lease): void {
    this.#tokens.set(tokenId(partition, resource, token), { holder, mode });
  }
}

function toLeaseRequest({ caller, holder }: Access, request: AcquireRequest) {
  const { resource, mode, ttl_ms, wait_ms, priority } = request;
  const idempotency = idempotencyOf(caller, 'memory_locker.acquire');
  return { resource, holder, mode, ttlMs: ttl_ms, waitMs: wait_ms, priority, idempotency };
}

function tokenId(partition: string, resource: string, token: number): string {
  return `${partition}\n${resource}\n${token}`;
}
