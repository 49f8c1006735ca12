// The state machine of coordination: all partitions in memory, no clock, no I/O. The same
// operations with the same times give the same state and the same answers, always, so that an
// engine may keep it by logging operations and applying them again.

import type { Lease } from '../coordination-store.ts';
import type { ExpiryDeadline } from './deadlines.ts';
import { type AskedEventLimits, type EventLimits, toEventLimits } from './event-log.ts';
import { grantWaiting, loseLease } from './leases.ts';
import type { Place } from './lock-table.ts';
import { type OperationName, type Operations, operations } from './operations.ts';
import { Partition, type PartitionReads, type PartitionRecord } from './partition.ts';

export interface Applied<Result> {
  readonly result: Result;
  /** False when the state is as it was; then the operation need not be logged. */
  readonly changed: boolean;
  /** The version of the last event, when there are new ones. */
  readonly newEvent: number | undefined;
}

export class CoordinationMachine {
  readonly #partitions = new Map<string, Partition>();
  readonly #limits: EventLimits;

  constructor(limits: AskedEventLimits = {}) {
    this.#limits = toEventLimits(limits);
  }

  /** Times must not step back. */
  apply<Name extends OperationName>(
    name: string,
    now: number,
    operation: Name,
    ...args: Operations[Name]['args']
  ): Applied<Operations[Name]['result']> {
    const known = this.#partitions.get(name);
    const partition = known ?? new Partition(this.#limits);
    const { changes, lastEvent } = partition;
    settle(partition, now);
    const result = operations[operation](partition, now, ...args);
    if (partition.changes > changes) partition.noteBlank(now);
    const isBlank = this.#keep(name, partition, now);
    const changed = partition.changes > changes || (isBlank && known !== undefined);
    const newEvent = partition.lastEvent > lastEvent ? partition.lastEvent : undefined;
    return { result, changed, newEvent };
  }

  /** False when there was none. */
  drop(name: string, now: number): boolean {
    const partition = this.#partitions.get(name);
    if (partition !== undefined) this.#keep(name, partition.toDropped(this.#limits), now);
    return partition !== undefined;
  }

  names(): readonly string[] {
    return [...this.#partitions.keys()];
  }

  *due(now: number): Iterable<string> {
    for (const [name, { nextDue }] of this.#partitions) if (nextDue <= now) yield name;
  }

  /** A partition as it is, for reading alone; an empty one where there is none. */
  partition(name: string): PartitionReads {
    return this.#partitions.get(name) ?? new Partition(this.#limits);
  }

  /** In bytes, about; 0 for one that is not there. */
  size(name: string): number {
    return this.#partitions.get(name)?.size ?? 0;
  }

  toRecord(name: string): PartitionRecord | undefined {
    return this.#partitions.get(name)?.toRecord();
  }

  restore(name: string, record: PartitionRecord): void {
    this.#partitions.set(name, new Partition(this.#limits, record));
  }

  #keep(name: string, partition: Partition, now: number): boolean {
    const isBlank = partition.isBlank(now);
    if (isBlank) this.#partitions.delete(name);
    else this.#partitions.set(name, partition);
    return isBlank;
  }
}

/**
 * What time alone changes in a partition. The order is part of the contract: events of expired
 * keys, then lost leases, then grants. A waiter whose time is over is gone before anything is
 * granted, since no client would take the lease.
 */
function settle(partition: Partition, now: number): void {
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
