// What a coordination store does, said as plainly as possible: one partition, lists that are
// searched and sorted on every step, no care for speed. Engines are held against this.

import type { Json } from '@starloom/core';
import type {
  AcquireResult,
  Commit,
  CommitResult,
  EventPage,
  Idempotency,
  Lease,
  LeaseMode,
  LeaseRequest,
  LockedCommitResult,
  ReleaseResult,
  Snapshot,
  StoredEvent,
  Waiting,
  Write,
} from '../src/coordination-store.ts';

interface ModelEntry {
  readonly value: Json;
  readonly version: number;
  readonly expiresAt: number;
  readonly onExpire: Json | undefined;
}

type Place = Omit<Waiting, 'position'> & { readonly ttlMs: number };
type Rank = Pick<Place, 'resource' | 'priority' | 'since'>;

interface Answered {
  readonly request: string | undefined;
  readonly answer: unknown;
  readonly until: number;
}

const TEN_MINUTES = 600_000;
const FIVE_SECONDS = 5_000;
const REUSED = { ok: false, reason: 'reused' } as const;

export class ModelPartition {
  readonly #keepEvents: number;
  #version = 0;
  #sequence = 0;
  #trimmedTo = 0;
  #entries = new Map<string, ModelEntry>();
  #events: StoredEvent[] = [];
  #leases: Lease[] = [];
  #queue: Place[] = [];
  #marks = new Map<string, number>();
  #answers = new Map<string, Answered>();
  /** When it was last asked to change, what it was before that, and when it did change. */
  #askedAt = 0;
  #before = '';
  #changedAt = 0;
  /** Everything that was ever granted or queued, for tests to come back to. */
  readonly granted: Lease[] = [];
  readonly tickets: string[] = [];

  constructor(keepEvents: number) {
    this.#keepEvents = keepEvents;
  }

  get version(): number {
    return this.#version;
  }

  read(now: number, keys = [...this.#entries.keys()]): Snapshot {
    const found = keys.flatMap((key) => {
      const entry = this.#entries.get(key);
      if (entry === undefined || entry.expiresAt <= now) return [];
      return [[key, { value: entry.value, version: entry.version }] as const];
    });
    return { version: this.#version, entries: new Map(found) };
  }

  events(after: number, limit: number): EventPage {
    if (after > this.#version) return { events: [], cursor: this.#version, gap: true };
    const later = this.#events.filter(({ version }) => version > after);
    const events = later.slice(0, limit);
    const cursor = later.length > limit ? (events.at(-1)?.version ?? after) : this.#version;
    return { events, cursor, gap: after < this.#trimmedTo };
  }

  leases(now: number): Lease[] {
    return this.#leases.filter(({ expiresAt }) => expiresAt > now);
  }

  waiting(now: number): Waiting[] {
    const live = this.#queue.filter(({ until }) => until > now);
    return live.map(({ ttlMs: _, ...place }) => {
      const before = live.filter(({ resource }) => resource === place.resource);
      return { ...place, position: before.findIndex(({ ticket }) => ticket === place.ticket) + 1 };
    });
  }

  commit(now: number, commit: Commit): CommitResult {
    this.settle(now);
    return this.#once<CommitResult>({ now, kind: 'commit', ...commit.idempotency }, REUSED, () => {
      const { fence } = commit;
      const lease = this.#leases.find(
        ({ resource, token }) => resource === fence?.resource && token === fence.token,
      );
      const mark = this.#marks.get(fence?.resource ?? '') ?? 0;
      if (fence && (lease?.mode !== 'exclusive' || fence.token < mark)) {
        return { ok: false, reason: 'fenced' };
      }
      const refusal = this.#write(now, commit);
      if (refusal) return refusal;
      if (fence) this.#marks.set(fence.resource, fence.token);
      return { ok: true, version: this.#version };
    });
  }

  acquireAndCommit(
    now: number,
    { resource, priority = 0 }: Pick<LeaseRequest, 'resource' | 'priority'>,
    commit: Commit,
  ): LockedCommitResult {
    this.settle(now);
    return this.#once<LockedCommitResult>(
      { now, kind: 'commit', ...underLock(commit) },
      REUSED,
      () => {
        if (!this.#isFree(now, resource, 'exclusive', priority)) {
          return { ok: false, reason: 'held', heldBy: this.#leasesOn(resource) };
        }
        const refusal = this.#write(now, commit);
        if (refusal) return refusal;
        const token = this.#next(now);
        this.#marks.set(resource, token);
        return { ok: true, version: this.#version, token };
      },
    );
  }

  acquire(now: number, request: LeaseRequest): AcquireResult {
    this.settle(now);
    return this.#once<AcquireResult>(
      { now, kind: 'acquire', ...request.idempotency },
      { reused: true },
      () => {
        const { resource, holder, mode, ttlMs, waitMs = 0, priority = 0 } = request;
        if (this.#isFree(now, resource, mode, priority))
          return { lease: this.#grant(now, request) };
        if (waitMs === 0) return { heldBy: this.#leasesOn(resource) };
        const ticket = `${this.#next(now)}:${resource}`;
        const until = now + waitMs;
        const place = { ticket, resource, holder, mode, ttlMs, priority, since: now, until };
        const ahead = this.#queue.findLastIndex((other) => this.#isAhead(other, place));
        this.#queue.splice(ahead + 1, 0, place);
        this.tickets.push(ticket);
        const queue = this.#queue.filter((place) => place.resource === resource);
        const position = queue.findIndex((place) => place.ticket === ticket) + 1;
        return { queued: { ticket, position } };
      },
    );
  }

  renew(now: number, { token }: Lease, ttlMs: number): Lease | undefined {
    this.settle(now);
    const renew = (lease: Lease) =>
      lease.token === token ? { ...lease, expiresAt: now + ttlMs } : lease;
    this.#leases = this.#leases.map(renew);
    return this.#leases.find((lease) => lease.token === token);
  }

  release(now: number, { token, resource }: Lease): ReleaseResult {
    this.settle(now);
    const released = this.#leases.some((lease) => lease.token === token);
    this.#leases = this.#leases.filter((lease) => lease.token !== token);
    return { released, granted: released ? this.#grantWaiting(now, resource) : [] };
  }

  breakLease(now: number, resource: string, token?: number): ReleaseResult {
    this.settle(now);
    const broken = this.#leasesOn(resource).filter((l) => token === undefined || l.token === token);
    for (const lease of broken) this.#lose(now, lease, 'broken');
    const released = broken.length > 0;
    return { released, granted: released ? this.#grantWaiting(now, resource) : [] };
  }

  cancelWait(now: number, ticket: string): boolean {
    this.settle(now);
    const place = this.#queue.find((candidate) => candidate.ticket === ticket);
    this.#queue = this.#queue.filter((candidate) => candidate.ticket !== ticket);
    if (place) this.#grantWaiting(now, place.resource);
    return place !== undefined;
  }

  /** Versions begin anew; numbers do not. */
  drop(): void {
    this.#version = 0;
    this.#trimmedTo = 0;
    this.#entries = new Map();
    this.#events = [];
    this.#leases = [];
    this.#queue = [];
    this.#marks = new Map();
    this.#answers = new Map();
  }

  settle(now: number): void {
    this.#forgetIfBlank(now);
    const keys = [...this.#entries].filter(([, { expiresAt }]) => expiresAt <= now);
    keys.sort(([a, x], [b, y]) => x.expiresAt - y.expiresAt || (a < b ? -1 : 1));
    for (const [key, { onExpire }] of keys) {
      this.#entries.delete(key);
      if (onExpire !== undefined) this.#tell(now, onExpire);
    }
    const late = this.#queue.filter(({ until }) => until <= now);
    late.sort((a, b) => a.until - b.until || (a.ticket < b.ticket ? -1 : 1));
    this.#queue = this.#queue.filter(({ until }) => until > now);
    const lost = this.#leases.filter(({ expiresAt }) => expiresAt <= now);
    lost.sort((a, b) => a.expiresAt - b.expiresAt || a.token - b.token);
    for (const lease of lost) this.#lose(now, lease, 'expired');
    for (const { resource } of [...late, ...lost]) this.#grantWaiting(now, resource);
  }

  #forgetIfBlank(now: number): void {
    const held = [...this.#entries.values(), ...this.#events, ...this.#leases, ...this.#queue];
    const state = () => JSON.stringify([this.#version, held]);
    if (state() !== this.#before) this.#changedAt = this.#askedAt;
    if (held.length === 0 && this.#changedAt + TEN_MINUTES <= now) this.#version = 0;
    this.#before = state();
    this.#askedAt = now;
  }

  #write(now: number, commit: Commit): Extract<CommitResult, { current: Snapshot }> | undefined {
    const { writes, event, ifVersion = this.#version, ifKeys = new Map() } = commit;
    const keys = writes.map(({ key }) => key);
    const hasOtherKeys = [...ifKeys].some(([key, version]) => {
      return (this.#entries.get(key)?.version ?? 0) !== version;
    });
    if (ifVersion !== this.#version || hasOtherKeys) {
      const current = this.read(now, [...new Set([...keys, ...ifKeys.keys()])]);
      return { ok: false, reason: 'conflict', current };
    }
    const next = new Map(this.#entries);
    for (const write of writes)
      if (!this.#writeOne(now, write, next)) {
        return { ok: false, reason: 'not_a_number', current: this.read(now, keys) };
      }
    this.#entries = next;
    this.#version += 1;
    if (event !== undefined) this.#append(now, event);
    return undefined;
  }

  #writeOne(now: number, write: Write, entries: Map<string, ModelEntry>): boolean {
    const version = this.#version + 1;
    switch (write.kind) {
      case 'delete':
        entries.delete(write.key);
        return true;
      case 'put': {
        const { key, value, ttlMs = Number.POSITIVE_INFINITY, onExpire } = write;
        entries.set(key, { value, version, expiresAt: now + ttlMs, onExpire });
        return true;
      }
      case 'increment': {
        const fresh = { value: 0, expiresAt: Number.POSITIVE_INFINITY, onExpire: undefined };
        const { value, ...rest } = entries.get(write.key) ?? fresh;
        if (typeof value !== 'number') return false;
        const sum = value + write.by;
        if (Math.abs(sum) > Number.MAX_SAFE_INTEGER) return false;
        if (write.by !== 0 && sum === value) return false;
        entries.set(write.key, { ...rest, value: sum, version });
        return true;
      }
    }
  }

  #once<Answer extends object>(
    { now, kind, key, request }: { now: number; kind: string } & Partial<Idempotency>,
    reused: Answer,
    make: () => Answer,
  ): Answer {
    const known = this.#answers.get(`${kind} ${key}`);
    if (key !== undefined && known && known.until > now) {
      if (known.request !== request) return reused;
      if (this.#isTrue(known.answer as Answer)) return known.answer as Answer;
    }
    const answer = make();
    const isRefusal = 'heldBy' in answer || ('ok' in answer && answer.ok === false);
    const until = now + TEN_MINUTES;
    if (!isRefusal) this.#answers.set(`${kind} ${key}`, { request, answer, until });
    return answer;
  }

  /** What it gave is still there. */
  #isTrue(answer: object): boolean {
    if ('lease' in answer) {
      const { resource, token } = answer.lease as Lease;
      return this.#leases.some((lease) => lease.resource === resource && lease.token === token);
    }
    if (!('queued' in answer)) return true;
    const { ticket } = answer.queued as { ticket: string };
    return [...this.#leases, ...this.#queue].some((each) => each.ticket === ticket);
  }

  #next(now: number): number {
    this.#sequence = Math.max(this.#sequence + 1, now);
    return this.#sequence;
  }

  #leasesOn(resource: string): Lease[] {
    return this.#leases.filter((lease) => lease.resource === resource);
  }

  #isBlocked(resource: string, mode: LeaseMode): boolean {
    return this.#leasesOn(resource).some((l) => mode === 'exclusive' || l.mode === 'exclusive');
  }

  #isFree(now: number, resource: string, mode: LeaseMode, priority: number): boolean {
    const newcomer = { resource, priority, since: now };
    const mustWait = this.#queue.some((place) => this.#isAhead(place, newcomer));
    return !mustWait && !this.#isBlocked(resource, mode);
  }

  /** Of a place and of somebody who comes later. */
  #isAhead(place: Rank, newcomer: Rank): boolean {
    if (place.resource !== newcomer.resource) return false;
    const hasWaitedLong = newcomer.since - place.since >= FIVE_SECONDS;
    return hasWaitedLong || place.priority >= newcomer.priority;
  }

  #grant(now: number, request: Omit<LeaseRequest, 'idempotency'> & { ticket?: string }): Lease {
    const { resource, holder, mode, ttlMs, ticket } = request;
    const token = this.#next(now);
    const lease = {
      resource,
      holder,
      mode,
      token,
      expiresAt: now + ttlMs,
      ...(ticket && { ticket }),
    };
    this.#leases.push(lease);
    this.granted.push(lease);
    return lease;
  }

  #grantWaiting(now: number, resource: string): Lease[] {
    const place = this.#queue.find((candidate) => candidate.resource === resource);
    if (!place || this.#isBlocked(resource, place.mode)) return [];
    this.#queue = this.#queue.filter(({ ticket }) => ticket !== place.ticket);
    const lease = this.#grant(now, place);
    const { holder, token, mode, expiresAt: expires_at } = lease;
    const { ticket } = place;
    this.#tell(now, { type: 'lock.granted', resource, holder, token, mode, expires_at, ticket });
    return [lease, ...this.#grantWaiting(now, resource)];
  }

  #lose(now: number, lost: Lease, reason: 'expired' | 'broken'): void {
    this.#leases = this.#leases.filter((lease) => lease !== lost);
    const { resource, holder, token, mode } = lost;
    this.#tell(now, { type: 'lock.lost', resource, holder, token, mode, reason });
  }

  #tell(now: number, event: Json): void {
    this.#version += 1;
    this.#append(now, event);
  }

  #append(now: number, event: Json): void {
    const size = JSON.stringify(event).length;
    this.#events.push({ version: this.#version, at: now, event, size });
    if (this.#events.length <= this.#keepEvents) return;
    this.#trimmedTo = this.#events[0]?.version ?? 0;
    this.#events = this.#events.slice(1);
  }
}

function underLock({ idempotency }: Commit): Partial<Idempotency> {
  return idempotency ? { ...idempotency, request: `${idempotency.request}, with lock` } : {};
}
