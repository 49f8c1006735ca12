// The state of one partition. `changes` grows with every change to it, so that the owner of a log
// knows whether an operation did anything. Values and events are kept as text: a caller that
// changes a value it gave or got changes no other caller's value.

import type { Json } from '@starloom/core';
import type { Entry, EventPage, Lease, Snapshot, Waiting } from '../coordination-store.ts';
import { findDeadlock, type LockView } from '../locks/wait-for-graph.ts';
import { type Answer, AnswerMemory } from './answer-memory.ts';
import { Deadlines, type ExpiryDeadline } from './deadlines.ts';
import { type EventLimits, type EventRecord, PartitionEvents } from './event-log.ts';
import { type LockRecord, LockTable, type Place } from './lock-table.ts';

/**
 * No request takes so long: by then its caller has used the version it read, and no answer is kept.
 */
const KEPT_BLANK_MS = 600_000;

/** What a partition takes that holds nothing, and a lease, a place or an answer. */
const PARTITION_BYTES = 1_024;
const ITEM_BYTES = 256;
const ENTRY_BYTES = 64;

function bytesOf(key: string, { json, onExpire }: EntryRecord): number {
  return ENTRY_BYTES + key.length + json.length + (onExpire?.length ?? 0);
}

export interface EntryRecord {
  readonly json: string;
  readonly version: number;
  readonly expiresAt?: number | undefined;
  /** The event to append then. */
  readonly onExpire?: string | undefined;
}

export interface PartitionRecord {
  readonly version: number;
  readonly sequence: number;
  readonly trimmedTo: number;
  readonly entries: readonly (readonly [string, EntryRecord])[];
  readonly events: readonly EventRecord[];
  readonly locks: LockRecord;
  readonly answers: readonly (readonly [string, Answer])[];
  readonly blankAt?: number | undefined;
}

export type PartitionReads = Pick<
  Partition,
  'snapshot' | 'events' | 'leases' | 'waiting' | 'deadlock'
>;

export class Partition {
  readonly locks: LockTable;
  readonly answers: AnswerMemory;
  readonly #entries: Map<string, EntryRecord>;
  readonly #events: PartitionEvents;
  readonly #deadlines = new Deadlines();
  #entryBytes = 0;
  #version: number;
  #sequence: number;
  /** When it is forgotten, unless it holds something by then. */
  #blankAt: number;
  #changes = 0;

  constructor(limits: EventLimits, record?: Partial<PartitionRecord>) {
    this.#version = record?.version ?? 0;
    this.#sequence = record?.sequence ?? 0;
    this.#blankAt = record?.blankAt ?? Number.POSITIVE_INFINITY;
    this.#entries = new Map(record?.entries);
    this.#events = new PartitionEvents(limits, record?.events, record?.trimmedTo);
    this.locks = new LockTable(record?.locks);
    this.answers = new AnswerMemory(record?.answers);
    for (const [key, entry] of this.#entries) this.#entryBytes += bytesOf(key, entry);
    this.#deadlines.reset(this.#allDeadlines());
  }

  /** About what it takes in memory, in bytes; in a file it is about as much. */
  get size(): number {
    const items = this.locks.items + this.answers.size;
    return PARTITION_BYTES + this.#entryBytes + this.#events.size + ITEM_BYTES * items;
  }

  /** A copy that later changes do not reach; it is cheap, since it shares the texts. */
  toRecord(): PartitionRecord {
    return {
      version: this.#version,
      sequence: this.#sequence,
      trimmedTo: this.#events.trimmedTo,
      entries: [...this.#entries],
      events: this.#events.records,
      locks: this.locks.toRecord(),
      answers: this.answers.toRecord(),
      ...(Number.isFinite(this.#blankAt) && { blankAt: this.#blankAt }),
    };
  }

  get version(): number {
    return this.#version;
  }

  get changes(): number {
    return this.#changes + this.locks.changes;
  }

  get lastEvent(): number {
    return this.#events.last;
  }

  /** When time changes something next. */
  get nextDue(): number {
    const goneAt = this.#isUnused() ? this.#sequence + 1 : Number.POSITIVE_INFINITY;
    return Math.min(this.#deadlines.next, this.answers.nextDue, this.#blankAt, goneAt);
  }

  /** No different from a partition that never was, since numbers begin at the engine's time. */
  isBlank(now: number): boolean {
    return this.#isUnused() && this.#sequence < now;
  }

  /** To be called after each change: when it holds nothing any more, it is forgotten some time. */
  noteBlank(now: number): void {
    if (this.#version > 0 && this.#holdsNothing()) this.#blankAt = now + KEPT_BLANK_MS;
  }

  /** Resets its versions when it has held nothing for long. */
  forgetBlank(now: number): void {
    if (this.#blankAt > now) return;
    this.#blankAt = Number.POSITIVE_INFINITY;
    if (!this.#holdsNothing()) return;
    this.#changes += 1;
    this.#version = 0;
  }

  /** What a drop leaves: numbers that go on. */
  toDropped(limits: EventLimits): Partition {
    return new Partition(limits, { sequence: this.#sequence });
  }

  entry(key: string): EntryRecord | undefined {
    return this.#entries.get(key);
  }

  setEntry(key: string, entry: EntryRecord): void {
    this.#changes += 1;
    this.#forgetBytes(key);
    this.#entryBytes += bytesOf(key, entry);
    this.#entries.set(key, entry);
    if (entry.expiresAt !== undefined) this.expect({ at: entry.expiresAt, kind: 'key', key });
  }

  deleteEntry(key: string): void {
    this.#changes += 1;
    this.#forgetBytes(key);
    this.#entries.delete(key);
  }

  /** Everything a commit changes shares one version; so does its event. */
  raiseVersion(): number {
    this.#changes += 1;
    this.#version += 1;
    return this.#version;
  }

  /** Versions up to there may have been given out, and what they stood for is lost. */
  skipVersions(by: number): void {
    this.#changes += 1;
    this.#version += by;
    if (this.#events.last > 0) this.#events.trimTo(this.#version);
  }

  /** Under the current version, which must have none yet. */
  append(event: Json, now: number): void {
    this.#events.append({ version: this.#version, at: now, json: JSON.stringify(event) });
  }

  /** For tokens and tickets: at least the engine's time, so that it rises even across a drop. */
  nextNumber(now: number): number {
    this.#sequence = Math.max(this.#sequence + 1, now);
    return this.#sequence;
  }

  expect(deadline: ExpiryDeadline): void {
    this.#deadlines.add(deadline);
    const live = this.#entries.size + this.locks.size;
    if (this.#deadlines.size > 4 * live + 64) this.#deadlines.reset(this.#allDeadlines());
  }

  takeDue(now: number): readonly ExpiryDeadline[] {
    return this.#deadlines.takeDue(now);
  }

  snapshot(now: number, keys: Iterable<string> = this.#entries.keys()): Snapshot {
    const entries = new Map<string, Entry>();
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (entry === undefined || (entry.expiresAt ?? Number.POSITIVE_INFINITY) <= now) continue;
      entries.set(key, { value: JSON.parse(entry.json), version: entry.version });
    }
    return { version: this.#version, entries };
  }

  events(after: number, limit: number): EventPage {
    return this.#events.page(after, limit, this.#version);
  }

  leases(now: number, resource?: string): Lease[] {
    return this.locks.leases(resource).filter(({ expiresAt }) => expiresAt > now);
  }

  waiting(now: number, resource?: string): Waiting[] {
    const positions = new Map<string, number>();
    return this.#places(now, resource).map(({ ttlMs: _, ...place }) => {
      const position = (positions.get(place.resource) ?? 0) + 1;
      positions.set(place.resource, position);
      return { ...place, position };
    });
  }

  deadlock(now: number, place: Pick<Waiting, 'ticket' | 'holder'>) {
    return findDeadlock(place, this.#lockView(now));
  }

  #places(now: number, resource?: string): Place[] {
    return this.locks.places(resource).filter(({ until }) => until > now);
  }

  #lockView(now: number): LockView {
    const isHeld = ({ expiresAt }: Lease) => expiresAt > now;
    const isWaiting = ({ until }: Place) => until > now;
    return {
      isInTheWay: (holder) =>
        this.locks
          .leasesOf(holder)
          .some((lease) => isHeld(lease) && this.locks.places(lease.resource).length > 0),
      leases: (resource) => this.leases(now, resource),
      places: (resource) => this.#places(now, resource),
      placesOf: (holder) => this.locks.placesOf(holder).filter(isWaiting),
    };
  }

  #forgetBytes(key: string): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#entryBytes -= bytesOf(key, entry);
  }

  #isUnused(): boolean {
    return this.#version === 0 && this.locks.size === 0 && this.answers.size === 0;
  }

  #holdsNothing(): boolean {
    return this.#entries.size === 0 && this.#events.last === 0 && this.locks.size === 0;
  }

  *#allDeadlines(): Iterable<ExpiryDeadline> {
    for (const [key, { expiresAt }] of this.#entries) {
      if (expiresAt !== undefined) yield { at: expiresAt, kind: 'key', key };
    }
    for (const { expiresAt, resource, token } of this.locks.leases()) {
      yield { at: expiresAt, kind: 'lease', resource, token };
    }
    for (const { until, ticket } of this.locks.places()) yield { at: until, kind: 'place', ticket };
  }
}
