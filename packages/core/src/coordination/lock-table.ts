import type { Lease, LeaseMode } from '../ports/store.ts';

/** A place in the queue of a resource. */
export interface Place {
  /** Ends in `:<resource>`, so that it leads to its queue. */
  readonly ticket: string;
  readonly resource: string;
  readonly holder: string;
  readonly mode: LeaseMode;
  readonly ttlMs: number;
  readonly priority: number;
  readonly since: number;
  readonly until: number;
}

/** Whoever has waited this long is not overtaken any more, whatever the priority. */
export const OVERTAKEN_FOR_MS = 5_000;

type Rank = Pick<Place, 'priority' | 'since'>;

/** May the one that comes now go before the one that stands there already? */
export function mayOvertake(newcomer: Rank, place: Rank): boolean {
  const hasWaitedMs = newcomer.since - place.since;
  return newcomer.priority > place.priority && hasWaitedMs < OVERTAKEN_FOR_MS;
}

export interface LockRecord {
  readonly leases: readonly Lease[];
  readonly places: readonly Place[];
  readonly marks: readonly (readonly [string, number])[];
}

/** Who holds what and who waits for it, expired or not; it grants nothing by itself. */
export class LockTable {
  readonly #leases = new Map<string, Lease[]>();
  /** In the order in which they are served. */
  readonly #places = new Map<string, Place[]>();
  /** Per resource, the highest token that ever wrote. */
  readonly #marks: Map<string, number>;
  #size = 0;
  #changes = 0;

  constructor(record?: LockRecord) {
    this.#marks = new Map(record?.marks);
    this.#size = (record?.leases.length ?? 0) + (record?.places.length ?? 0);
    for (const lease of record?.leases ?? []) listOf(this.#leases, lease.resource).push(lease);
    for (const place of record?.places ?? []) listOf(this.#places, place.resource).push(place);
  }

  toRecord(): LockRecord {
    return { leases: this.leases(), places: this.places(), marks: [...this.#marks] };
  }

  get changes(): number {
    return this.#changes;
  }

  /** Leases and places. */
  get size(): number {
    return this.#size;
  }

  leases(resource?: string): readonly Lease[] {
    return resource === undefined
      ? [...this.#leases.values()].flat()
      : (this.#leases.get(resource) ?? []);
  }

  findLease({ resource, token }: Pick<Lease, 'resource' | 'token'>): Lease | undefined {
    return this.leases(resource).find((lease) => lease.token === token);
  }

  /** Adds it, or replaces the one with its token. */
  setLease(lease: Lease): void {
    this.#changes += 1;
    const leases = listOf(this.#leases, lease.resource);
    const index = leases.findIndex(({ token }) => token === lease.token);
    if (index === -1) this.#size += 1;
    leases[index === -1 ? leases.length : index] = lease;
  }

  /** One that is there. */
  deleteLease({ resource, token }: Lease): void {
    this.#changes += 1;
    this.#size -= 1;
    remove(this.#leases, resource, (lease) => lease.token === token);
  }

  places(resource?: string): readonly Place[] {
    return resource === undefined
      ? [...this.#places.values()].flat()
      : (this.#places.get(resource) ?? []);
  }

  findPlace(ticket: string): Place | undefined {
    const resource = ticket.slice(ticket.indexOf(':') + 1);
    return this.places(resource).find((place) => place.ticket === ticket);
  }

  /** Behind all that it may not overtake; says which place that is, from 1. */
  addPlace(place: Place): number {
    this.#changes += 1;
    this.#size += 1;
    const places = listOf(this.#places, place.resource);
    const index = places.findLastIndex((other) => !mayOvertake(place, other)) + 1;
    places.splice(index, 0, place);
    return index + 1;
  }

  /** One that is there. */
  deletePlace({ resource, ticket }: Place): void {
    this.#changes += 1;
    this.#size -= 1;
    remove(this.#places, resource, (place) => place.ticket === ticket);
  }

  mark(resource: string): number {
    return this.#marks.get(resource) ?? 0;
  }

  setMark(resource: string, token: number): void {
    this.#changes += 1;
    this.#marks.set(resource, token);
  }
}

function listOf<Item>(lists: Map<string, Item[]>, name: string): Item[] {
  const list = lists.get(name) ?? [];
  lists.set(name, list);
  return list;
}

function remove<Item>(
  lists: Map<string, Item[]>,
  name: string,
  isMeant: (item: Item) => boolean,
): void {
  const rest = listOf(lists, name).filter((item) => !isMeant(item));
  if (rest.length > 0) lists.set(name, rest);
  else lists.delete(name);
}
