// What time alone changes in a partition. The order is part of the contract: events of expired
// keys, then lost leases, then grants. A waiter whose time is over is gone before anything is
// granted, since no client would take the lease.

import type { Lease } from '../coordination-store.ts';
import type { ExpiryDeadline } from './deadlines.ts';
import { grantWaiting, loseLease } from './leases.ts';
import type { Place } from './lock-table.ts';
import type { Partition } from './partition.ts';

export function settle(partition: Partition, now: number): void {
  if (partition.nextDue > now) return;
  partition.answers.forget(now);
  partition.forgetBlank(now);
  const due = partition.takeDue(now);
  for (const key of expiredKeys(partition, due)) expireKey(partition, key, now);
  const places = expiredPlaces(partition, due);
  partition.locks.deletePlaces(places);
  const leases = expiredLeases(partition, due);
  for (const lease of leases) loseLease(partition, lease, 'expired', now);
  const resources = new Set([...places, ...leases].map(({ resource }) => resource));
  for (const resource of resources) grantWaiting(partition, resource, now);
}

function expiredKeys(partition: Partition, due: readonly ExpiryDeadline[]): string[] {
  const deadlines = due.filter((deadline) => deadline.kind === 'key');
  deadlines.sort((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1));
  const current = deadlines.filter(({ key, at }) => partition.entry(key)?.expiresAt === at);
  return [...new Set(current.map(({ key }) => key))];
}

function expireKey(partition: Partition, key: string, now: number): void {
  const event = partition.entry(key)?.onExpire;
  partition.deleteEntry(key);
  if (event === undefined) return;
  partition.raiseVersion();
  partition.append(JSON.parse(event), now);
}

function expiredPlaces({ locks }: Partition, due: readonly ExpiryDeadline[]): Place[] {
  const places = due.flatMap((deadline) =>
    deadline.kind === 'place' ? (locks.findPlace(deadline.ticket) ?? []) : [],
  );
  return places.sort((a, b) => a.until - b.until || numberOf(a) - numberOf(b));
}

function expiredLeases({ locks }: Partition, due: readonly ExpiryDeadline[]): Lease[] {
  const leases = due.flatMap((deadline) => {
    if (deadline.kind !== 'lease') return [];
    const lease = locks.findLease(deadline);
    return lease?.expiresAt === deadline.at ? lease : [];
  });
  return [...new Set(leases)].sort((a, b) => a.expiresAt - b.expiresAt || a.token - b.token);
}

function numberOf({ ticket }: Place): number {
  return Number.parseInt(ticket, 10);
}
