// Grants happen here and nowhere else: at once when nothing is in the way, or from the head of the
// queue as soon as that is so. The queue is never skipped, except by a higher priority, and then only
// those who have not waited for long.

import type {
  AcquireResult,
  Lease,
  LeaseMode,
  LeaseRequest,
  ReleaseResult,
} from '../coordination-store.ts';
import { mayOvertake, type Place } from './lock-table.ts';
import type { Partition } from './partition.ts';

type LeaseId = Pick<Lease, 'resource' | 'token'>;

export function acquire(partition: Partition, now: number, request: LeaseRequest): AcquireResult {
  const answer = partition.answers.once<AcquireResult>(
    { kind: 'acquire', idempotency: request.idempotency, now },
    () => {
      if (isFree(partition, now, request)) return { lease: grant(partition, request, now) };
      if ((request.waitMs ?? 0) > 0) return { queued: queue(partition, request, now) };
      return { heldBy: partition.locks.leases(request.resource) };
    },
    (made) => !('heldBy' in made),
    (known) => isAlive(partition, known),
  );
  return answer === 'reused' ? { reused: true } : answer;
}

/** A repeated request must not get a lease or a place that is gone. */
function isAlive({ locks }: Partition, answer: AcquireResult): boolean {
  if ('lease' in answer) return locks.findLease(answer.lease) !== undefined;
  if (!('queued' in answer)) return false;
  const { ticket } = answer.queued;
  const isGranted = locks.leases().some((lease) => lease.ticket === ticket);
  return isGranted || locks.findPlace(ticket) !== undefined;
}

export function renew(
  partition: Partition,
  now: number,
  id: LeaseId,
  ttlMs: number,
): Lease | undefined {
  const lease = partition.locks.findLease(id);
  if (lease === undefined) return undefined;
  const renewed = { ...lease, expiresAt: now + ttlMs };
  setLease(partition, renewed);
  return renewed;
}

export function release(partition: Partition, now: number, id: LeaseId): ReleaseResult {
  const lease = partition.locks.findLease(id);
  if (lease === undefined) return { released: false, granted: [] };
  partition.locks.deleteLease(lease);
  return { released: true, granted: grantWaiting(partition, id.resource, now) };
}

export function breakLease(
  partition: Partition,
  now: number,
  resource: string,
  token?: number,
): ReleaseResult {
  const leases = partition.locks.leases(resource);
  const broken = leases.filter((lease) => token === undefined || lease.token === token);
  for (const lease of broken) loseLease(partition, lease, 'broken', now);
  const granted = broken.length > 0 ? grantWaiting(partition, resource, now) : [];
  return { released: broken.length > 0, granted };
}

export function cancelWait(partition: Partition, now: number, ticket: string): boolean {
  const place = partition.locks.findPlace(ticket);
  if (place === undefined) return false;
  partition.locks.deletePlaces([place]);
  grantWaiting(partition, place.resource, now);
  return true;
}

/** Whether it would be granted at once: no lease in the way, and no request to overtake. */
export function isFree(
  partition: Partition,
  now: number,
  { resource, mode, priority = 0 }: Pick<LeaseRequest, 'resource' | 'mode' | 'priority'>,
): boolean {
  if (isBlocked(partition, { resource, mode })) return false;
  const newcomer = { priority, since: now };
  return partition.locks.places(resource).every((place) => mayOvertake(newcomer, place));
}

export function loseLease(
  partition: Partition,
  lease: Lease,
  reason: 'expired' | 'broken',
  now: number,
): void {
  partition.locks.deleteLease(lease);
  const { resource, holder, token, mode } = lease;
  partition.raiseVersion();
  partition.append({ type: 'lock.lost', resource, holder, token, mode, reason }, now);
}

/** Serves the queue until its head has to wait. */
export function grantWaiting(partition: Partition, resource: string, now: number): Lease[] {
  const places = partition.locks.places(resource);
  const granted: Lease[] = [];
  for (const place of places) {
    if (isBlocked(partition, place)) break;
    granted.push(grantPlace(partition, place, now));
  }
  partition.locks.deletePlaces(places.slice(0, granted.length));
  return granted;
}

function grantPlace(partition: Partition, place: Place, now: number): Lease {
  const lease = grant(partition, place, now);
  const { resource, holder, mode, ticket } = place;
  const { token, expiresAt: expires_at } = lease;
  partition.raiseVersion();
  partition.append(
    { type: 'lock.granted', resource, holder, token, mode, expires_at, ticket },
    now,
  );
  return lease;
}

function grant(
  partition: Partition,
  request: Pick<LeaseRequest, 'resource' | 'holder' | 'mode' | 'ttlMs'> & { ticket?: string },
  now: number,
): Lease {
  const { resource, holder, mode, ttlMs, ticket } = request;
  const token = partition.nextNumber(now);
  const lease = {
    resource,
    holder,
    mode,
    token,
    expiresAt: now + ttlMs,
    ...(ticket && { ticket }),
  };
  setLease(partition, lease);
  return lease;
}

function queue(partition: Partition, request: LeaseRequest, now: number) {
  const { resource, holder, mode, ttlMs, waitMs = 0, priority = 0 } = request;
  const ticket = `${partition.nextNumber(now)}:${resource}`;
  const until = now + waitMs;
  const place = { ticket, resource, holder, mode, ttlMs, priority, since: now, until };
  const position = partition.locks.addPlace(place);
  partition.expect({ at: until, kind: 'place', ticket });
  return { ticket, position };
}

function setLease(partition: Partition, lease: Lease): void {
  const { resource, token, expiresAt } = lease;
  partition.locks.setLease(lease);
  partition.expect({ at: expiresAt, kind: 'lease', resource, token });
}

function isBlocked(
  { locks }: Partition,
  { resource, mode }: { resource: string; mode: LeaseMode },
): boolean {
  const held = locks.firstLease(resource);
  return held !== undefined && (mode === 'exclusive' || held.mode === 'exclusive');
}
