// Waits in the queue of a lock without polling. The wait ends when the lock is granted, when its time
// is over, when it would never end, and when the agent loses its place or its right to the lock.

import { type Json, orAborted } from '@starloom/core';
import { deadlineSignal, streamTurns } from '@starloom/wire';
import { fromHolder } from '../agents/caller.ts';
import type { CoordinationStore, Lease, LeaseMode } from '../coordination-store.ts';
import type { LogWatch } from '../feed/event-feed.ts';
import { fieldsOf, isTurnOf } from '../feed/log-event.ts';
import { failure } from '../reasons.ts';

export interface PlaceInQueue {
  readonly partition: string;
  readonly resource: string;
  readonly ticket: string;
}

export async function refuseDeadlock(
  store: CoordinationStore,
  { partition, resource, ticket }: PlaceInQueue,
  holder: string,
): Promise<void> {
  const circle = await store.deadlock(partition, { ticket, holder });
  if (circle === undefined) return;
  if (!(await store.cancelWait(partition, ticket))) return;
  const [own, ...others] = circle;
  if (others.length === 0) throw lockHeld(resource, await store.leases(partition, resource), own);
  const agents = circle.map((holder) => fromHolder(holder).agentId);
  throw failure('deadlock', { circle: agents });
}

export interface Turn {
  readonly principalId: string;
  readonly watch: LogWatch;
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
  /** Throws when the waiter has no right to the lock (any more). */
  readonly assertAllowed: () => Promise<unknown>;
}

/** The lease when it is granted; refused at once when it will not be, and when the time is over. */
export async function awaitTurn(
  store: CoordinationStore,
  place: PlaceInQueue,
  turn: Turn,
): Promise<Lease> {
  const { partition, resource, ticket } = place;
  using deadline = deadlineSignal({ ms: turn.waitMs, parent: turn.signal });
  // The watch reports what happens to the place; only then the queue is read.
  let isWaiting = true;
  try {
    while (!deadline.signal.aborted) {
      const lease = await findLease(store, place);
      if (lease) return lease;
      await turn.assertAllowed();
      if (!isWaiting) return await leaseOrRefusal(store, place);
      await orAborted(turn.watch.news(), deadline.signal).catch(() => undefined);
      if (!deadline.signal.aborted) isWaiting = await standsInQueue(store, place);
    }
  } catch (error) {
    await giveUp(store, place);
    throw error;
  }
  // The time of thousands may be over at once.
  await streamTurns.enter(turn.principalId);
  const isCancelled = await store.cancelWait(partition, ticket);
  const lease = isCancelled ? undefined : await findLease(store, place);
  if (lease) return lease;
  const leases = await store.leases(partition, resource);
  throw failure('lock_held/waited', { resource, waited_ms: turn.waitMs, ...inTheWay(leases) });
}

/** The agent gives up a place of its own; a client that waits there learns it from the log. */
export async function cancelPlace(
  store: CoordinationStore,
  { partition, resource, ticket }: PlaceInQueue,
  agentId: string,
): Promise<boolean> {
  if (!(await store.cancelWait(partition, ticket))) return false;
  const event = { type: CANCELLED, agent_id: agentId, resource, ticket };
  await store.commit(partition, { writes: [], event });
  return true;
}

/** Is it the turn of the ticket, or may its agent have lost the place or the right to it? */
export function concernsPlace(event: Json, agentId: string, ticket: string | undefined): boolean {
  const { type, agent_id, ticket: cancelled } = fieldsOf(event);
  if (type === CANCELLED) return ticket === undefined || ticket === cancelled;
  if (isTurnOf(event, ticket) || type === 'session.suspended' || type === 'session.ended')
    return true;
  return agent_id === agentId && MEMBER_CHANGES.includes(String(type));
}

const CANCELLED = 'lock.cancelled';
const MEMBER_CHANGES: readonly string[] = [
  'session.agent_left',
  'session.agent_disconnected',
  'session.agent_returned',
  'session.agent_joined',
  'session.role_changed',
];

export async function findLease(
  store: CoordinationStore,
  { partition, resource, ticket }: PlaceInQueue,
): Promise<Lease | undefined> {
  const leases = await store.leases(partition, resource);
  return leases.find((lease) => lease.ticket === ticket);
}

async function standsInQueue(
  store: CoordinationStore,
  { partition, resource, ticket }: PlaceInQueue,
): Promise<boolean> {
  const places = await store.waiting(partition, resource);
  return places.some((place) => place.ticket === ticket);
}

/** Of a ticket without a place: it had its turn a moment ago, or it will have none. */
async function leaseOrRefusal(store: CoordinationStore, place: PlaceInQueue): Promise<Lease> {
  const leases = await store.leases(place.partition, place.resource);
  const lease = leases.find(({ ticket }) => ticket === place.ticket);
  if (lease) return lease;
  const { resource, ticket } = place;
  throw failure('lock_held/cancelled', { resource, ticket, ...inTheWay(leases) });
}

/** The place, or the lease that was granted in the same moment. */
export async function giveUp(store: CoordinationStore, place: PlaceInQueue): Promise<void> {
  if (await store.cancelWait(place.partition, place.ticket)) return;
  const lease = await findLease(store, place);
  if (lease) await store.release(place.partition, lease);
}

/** Why `own` does not get the lock: it may hold it itself. */
export function lockHeld(resource: string, leases: readonly Lease[], own: string | undefined) {
  const held = leases.filter(({ holder }) => holder === own);
  if (held.length > 0) return failure('lock_held/own', { resource, ...inTheWay(held) });
  const { holder, ...until } = inTheWay(leases);
  if (holder === undefined) return failure('lock_held/queue', { resource });
  return failure('lock_held/other', { resource, holder, ...until });
}

/** The holder of the lock, and until when it has the lock at most. */
export function inTheWay(leases: readonly Lease[]): {
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
