import type { Lease, LeaseMode } from '../coordination-store.ts';

export interface Place {
  /** Ends in `:<resource>`. */
  readonly ticket: string;
  readonly resource: string;
  readonly holder: string;
  readonly mode: LeaseMode;
  readonly ttlMs: number;
  readonly priority: number;
  readonly since: number;
  readonly until: number;
}

/** No request overtakes one that has waited this long, whatever the priority. */
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

/**
 * Leases and places in queues, expired or not; it grants nothing by itself. To end or to
 * serve any number of them takes one walk through them.
 */
export class LockTable {
  /** By resource and token, in the order in which they were granted. */
  readonly #leases = new Map<string, Map<number, Lease>>();
  /** By ticket. */
  readonly #places = new Map<string, Place>();
  /** The same by resource, in the order in which they are served. */
  readonly #queues = new Map<string, Place[]>();
  /** Per resource, the highest token that ever wrote. */
  readonly #marks: Map<string, number>;
  /** Both by holder. */
  readonly #leasesOf = new Map<string, Set<Lease>>();
  readonly #placesOf = new Map<string, Set<Place>>();
  #held = 0;
  #changes = 0;

  constructor(record?: LockRecord) {
    this.#marks = new Map(record?.marks);
    for (const lease of record?.leases ?? []) this.setLease(lease);
    for (const place of record?.places ?? []) {
      this.#places.set(place.ticket, place);
      this.#queue(place.resource).push(place);
      addTo(this.#placesOf, place);
    }
  }

  /** Of leases, places and marks, however long their names are. */
  get items(): number {
    return this.size + this.#marks.size;
  }

  toRecord(): LockRecord {
    return { leases: this.leases(), places: this.places(), marks: [...this.#marks] };
  }

  get changes(): number {
    return this.#changes;
  }

  get size(): number {
    return this.#held + this.#places.size;
  }

  leases(resource?: string): readonly Lease[] {
    if (resource !== undefined) return [...(this.#leases.get(resource)?.values() ?? [])];
    return [...this.#leases.values()].flatMap((leases) => [...leases.values()]);
  }

  /** The first lease shows what is in the way: it is the only one, or all are shared. */
  firstLease(resource: string): Lease | undefined {
    return this.#leases.get(resource)?.values().next().value;
  }

  findLease({ resource, token }: Pick<Lease, 'resource' | 'token'>): Lease | undefined {
    return this.#leases.get(resource)?.get(token);
  }

  /** Adds it, or replaces the one with its token. */
  setLease(lease: Lease): void {
    this.#changes += 1;
    const { resource, token } = lease;
    const leases = this.#leases.get(resource) ?? new Map<number, Lease>();
    const before = leases.get(token);
    if (before) removeFrom(this.#leasesOf, before);
    else this.#held += 1;
    addTo(this.#leasesOf, lease);
    this.#leases.set(resource, leases.set(token, lease));
  }

  /** One that is there. */
  deleteLease({ resource, token }: Lease): void {
    this.#changes += 1;
    this.#held -= 1;
    const leases = this.#leases.get(resource);
    const lease = leases?.get(token);
    if (lease) removeFrom(this.#leasesOf, lease);
    leases?.delete(token);
    if (leases?.size === 0) this.#leases.delete(resource);
  }

  places(resource?: string): readonly Place[] {
    if (resource !== undefined) return this.#queues.get(resource) ?? [];
    return [...this.#queues.values()].flat();
  }

  leasesOf(holder: string): readonly Lease[] {
    return [...(this.#leasesOf.get(holder) ?? [])];
  }

  placesOf(holder: string): readonly Place[] {
    return [...(this.#placesOf.get(holder) ?? [])];
  }

  findPlace(ticket: string): Place | undefined {
    return this.#places.get(ticket);
  }

  /** Behind all that it may not overtake; says which place that is, from 1. */
  addPlace(place: Place): number {
    this.#changes += 1;
    this.#places.set(place.ticket, place);
    addTo(this.#placesOf, place);
    const queue = this.#queue(place.resource);
    const index = queue.findLastIndex((other) => !mayOvertake(place, other)) + 1;
    queue.splice(index, 0, place);
    return index + 1;
  }

  /** Those that are there, of any number of resources. */
  deletePlaces(places: readonly Place[]): void {
    this.#changes += places.length;
    for (const place of places) {
      this.#places.delete(place.ticket);
      removeFrom(this.#placesOf, place);
    }
    for (const resource of new Set(places.map((place) => place.resource))) {
      const rest = this.#queue(resource).filter(({ ticket }) => this.#places.has(ticket));
      if (rest.length > 0) this.#queues.set(resource, rest);
      else this.#queues.delete(resource);
    }
  }

  mark(resource: string): number {
    return this.#marks.get(resource) ?? 0;
  }

  setMark(resource: string, token: number): void {
    this.#changes += 1;
    this.#marks.set(resource, token);
  }

  #queue(resource: string): Place[] {
    const queue = this.#queues.get(resource) ?? [];
    this.#queues.set(resource, queue);
    return queue;
  }
}

type ByHolder<Item> = Map<string, Set<Item>>;

function addTo<Item extends { readonly holder: string }>(index: ByHolder<Item>, item: Item): void {
  const items = index.get(item.holder) ?? new Set();
  index.set(item.holder, items.add(item));
}

function removeFrom<Item extends { readonly holder: string }>(
  index: ByHolder<Item>,
  item: Item,
): void {
  const items = index.get(item.holder);
  items?.delete(item);
  if (items?.size === 0) index.delete(item.holder);
}
