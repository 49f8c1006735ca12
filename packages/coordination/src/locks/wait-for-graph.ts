// Finds deadlocks. A waiter waits for the holders of leases that block it and for the waiters before
// it in the queue. Agents that wait for each other in a circle wait for ever. The last agent of a
// circle holds a lease: an agent without a lease blocks no other agent for ever, so it may stand in
// a queue as often as it likes, also behind itself. The search costs nothing for an
// agent that no other agent waits for, and else one look at each lease and place on the way.

import type { Lease, LeaseMode, Waiting } from '../coordination-store.ts';

export type Place = Pick<Waiting, 'ticket' | 'resource' | 'holder' | 'mode' | 'since'>;

/** The locks of a partition, found by what is asked for. */
export interface LockView {
  /** Does any agent wait for what the holder has? */
  isInTheWay(holder: string): boolean;
  leases(resource: string): readonly Lease[];
  /** In the order of the queue. */
  places(resource: string): readonly Place[];
  placesOf(holder: string): readonly Place[];
}

/**
 * The circle that the place with this ticket closed, being the last in it that came, as holders from
 * its own on; `undefined` when there is none. When several came at the same time and their tickets do
 * not tell, each closed it: better one too many is refused than none.
 */
export function findDeadlock(
  { ticket, holder }: Pick<Place, 'ticket' | 'holder'>,
  locks: LockView,
): readonly string[] | undefined {
  if (!locks.isInTheWay(holder)) return undefined;
  const start = locks.placesOf(holder).find((place) => place.ticket === ticket);
  if (start === undefined) return undefined;
  const waitsFor = new Map([[holder, holder]]);
  const queues = new Map<string, WalkedQueue>();
  const ahead = [start];
  for (let place = ahead.pop(); place; place = ahead.pop()) {
    const { resource, mode, holder: waiter } = place;
    const isInTheWay = (other: { readonly mode: LeaseMode }) => collide(other.mode, mode);
    const queue = queues.get(resource) ?? new WalkedQueue(locks, resource);
    queues.set(resource, queue);
    const leases = queue.leases.filter(isInTheWay);
    if (leases.some((lease) => lease.holder === holder)) return pathTo(waiter, holder, waitsFor);
    const before = queue.takeBefore(place).filter((other) => !isLater(other, start));
    for (const blocker of [...leases, ...before.filter(isInTheWay)]) {
      if (waitsFor.has(blocker.holder)) continue;
      waitsFor.set(blocker.holder, waiter);
      ahead.push(...locks.placesOf(blocker.holder).filter((next) => !isLater(next, start)));
    }
  }
  return undefined;
}

export function toLockView(leases: readonly Lease[], waiting: readonly Waiting[]): LockView {
  const held = Map.groupBy(leases, ({ resource }) => resource);
  const inOrder = waiting.toSorted((a, b) => a.position - b.position);
  const queues = Map.groupBy(inOrder, ({ resource }) => resource);
  const places = Map.groupBy(waiting, ({ holder }) => holder);
  const blocking = leases.filter(({ resource }) => queues.has(resource));
  const holders = new Set(blocking.map(({ holder }) => holder));
  return {
    isInTheWay: (holder) => holders.has(holder),
    leases: (resource) => held.get(resource) ?? [],
    places: (resource) => queues.get(resource) ?? [],
    placesOf: (holder) => places.get(holder) ?? [],
  };
}

/** What is held and waited for of one resource. Each place is given once for each mode. */
class WalkedQueue {
  readonly leases: readonly Lease[];
  readonly #places: readonly Place[];
  readonly #indexes: ReadonlyMap<string, number>;
  readonly #walked = { exclusive: 0, shared: 0 };

  constructor(locks: LockView, resource: string) {
    this.leases = locks.leases(resource);
    this.#places = locks.places(resource);
    this.#indexes = new Map(this.#places.map(({ ticket }, index) => [ticket, index]));
  }

  /** Those that stand before the place and were not walked over yet. */
  takeBefore({ ticket, mode }: Place): readonly Place[] {
    const index = this.#indexes.get(ticket) ?? 0;
    const before = this.#places.slice(this.#walked[mode], index);
    this.#walked[mode] = Math.max(this.#walked[mode], index);
    return before;
  }
}

function pathTo(
  last: string,
  first: string,
  waitsFor: ReadonlyMap<string, string>,
): readonly string[] {
  const path = [last];
  for (let at = last; at !== first; ) {
    at = waitsFor.get(at) ?? first;
    path.push(at);
  }
  return path.reverse();
}

/** Engines number their tickets as they give them out. */
function isLater(a: Place, b: Place): boolean {
  if (a.since !== b.since) return a.since > b.since;
  return Number.parseInt(a.ticket, 10) > Number.parseInt(b.ticket, 10);
}

function collide(a: LeaseMode, b: LeaseMode): boolean {
  return a === 'exclusive' || b === 'exclusive';
}
