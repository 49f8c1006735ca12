import { type Clock, systemClock } from '../clock.ts';
import type {
  Commit,
  CommitResult,
  CoordinationStore,
  Entry,
  Json,
  Lease,
  LeaseRequest,
  Snapshot,
  StoredEvent,
  Write,
} from '../ports/store.ts';

interface Partition {
  version: number;
  entries: Map<string, Entry & { expiresAt: number }>;
  events: StoredEvent[];
  trimmedTo: number;
  leases: Lease[];
  /** Highest token granted, and highest that ever wrote, per resource. */
  granted: Map<string, number>;
  marks: Map<string, number>;
}

/** Coordination state that lives as long as the process. */
export class MemoryCoordinationStore implements CoordinationStore {
  readonly #partitions = new Map<string, Partition>();
  readonly #listeners = new Map<string, Set<(version: number) => void>>();
  readonly #clock: Clock;
  readonly #keepEvents: number;

  constructor({
    clock = systemClock,
    keepEvents = 10_000,
  }: { clock?: Clock; keepEvents?: number } = {}) {
    this.#clock = clock;
    this.#keepEvents = keepEvents;
  }

  async read(partition: string, keys?: readonly string[]): Promise<Snapshot> {
    return this.#snapshot(this.#open(partition), keys);
  }

  async commit(name: string, commit: Commit): Promise<CommitResult> {
    const partition = this.#open(name);
    const { fence } = commit;
    if (fence && !this.#mayWrite(partition, fence)) return { ok: false, reason: 'fenced' };
    const keys = [...commit.writes.map(({ key }) => key), ...(commit.ifKeys?.keys() ?? [])];
    const current = this.#snapshot(partition, keys);
    if (isConflict(commit, current)) return { ok: false, reason: 'conflict', current };
    const puts = commit.writes.map((write) => this.#toEntry(current, write, partition.version + 1));
    if (puts.some((put) => put === 'not_a_number')) {
      return { ok: false, reason: 'not_a_number', current };
    }
    partition.version += 1;
    for (const [index, { key }] of commit.writes.entries()) {
      const put = puts[index];
      if (put && put !== 'not_a_number') partition.entries.set(key, put);
      else partition.entries.delete(key);
    }
    if (fence) partition.marks.set(fence.resource, fence.token);
    if (commit.event !== undefined) this.#publish(name, partition, commit.event);
    return { ok: true, version: partition.version };
  }

  async events(name: string, after: number, limit: number) {
    const partition = this.#open(name);
    const later = partition.events.filter(({ version }) => version > after);
    const events = later.slice(0, limit);
    const rest = later.length > limit;
    const cursor = rest ? (events.at(-1)?.version ?? after) : Math.max(after, partition.version);
    return { events, cursor, gap: after < partition.trimmedTo };
  }

  async watch(name: string, listener: (version: number) => void) {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return async () => void listeners.delete(listener);
  }

  async acquire(name: string, request: LeaseRequest) {
    const partition = this.#open(name);
    const { resource, holder, mode, ttlMs } = request;
    const heldBy = partition.leases.filter(
      (lease) =>
        lease.resource === resource && (mode === 'exclusive' || lease.mode === 'exclusive'),
    );
    if (heldBy.length > 0) return { heldBy };
    const token = (partition.granted.get(resource) ?? 0) + 1;
    partition.granted.set(resource, token);
    const lease = { resource, holder, mode, token, expiresAt: this.#clock.now() + ttlMs };
    partition.leases.push(lease);
    return { lease };
  }

  async renew(name: string, { resource, token }: Pick<Lease, 'resource' | 'token'>, ttlMs: number) {
    const partition = this.#open(name);
    const index = partition.leases.findIndex((l) => l.resource === resource && l.token === token);
    const lease = partition.leases[index];
    if (!lease) return undefined;
    const renewed = { ...lease, expiresAt: this.#clock.now() + ttlMs };
    partition.leases[index] = renewed;
    return renewed;
  }

  async release(name: string, { resource, token }: Pick<Lease, 'resource' | 'token'>) {
    const partition = this.#open(name);
    const rest = partition.leases.filter((l) => l.resource !== resource || l.token !== token);
    const released = rest.length < partition.leases.length;
    partition.leases = rest;
    return released;
  }

  async leases(name: string, resource?: string) {
    const { leases } = this.#open(name);
    return leases.filter((lease) => resource === undefined || lease.resource === resource);
  }

  async drop(name: string): Promise<void> {
    this.#partitions.delete(name);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }

  /** The partition with everything that has expired taken out. */
  #open(name: string): Partition {
    const now = this.#clock.now();
    const partition = this.#partitions.get(name) ?? {
      version: 0,
      entries: new Map(),
      events: [],
      trimmedTo: 0,
      leases: [],
      granted: new Map(),
      marks: new Map(),
    };
    this.#partitions.set(name, partition);
    partition.leases = partition.leases.filter(({ expiresAt }) => expiresAt > now);
    for (const [key, { expiresAt }] of partition.entries) {
      if (expiresAt <= now) partition.entries.delete(key);
    }
    return partition;
  }

  #snapshot({ version, entries }: Partition, keys?: readonly string[]): Snapshot {
    const wanted = keys ?? [...entries.keys()];
    const found = wanted.flatMap((key) => {
      const entry = entries.get(key);
      return entry ? [[key, { value: entry.value, version: entry.version }] as const] : [];
    });
    return { version, entries: new Map(found) };
  }

  #mayWrite(partition: Partition, { resource, token }: NonNullable<Commit['fence']>): boolean {
    const live = partition.leases.some(
      (lease) => lease.resource === resource && lease.token === token && lease.mode === 'exclusive',
    );
    return live && token >= (partition.marks.get(resource) ?? 0);
  }

  #toEntry(current: Snapshot, write: Write, version: number) {
    switch (write.kind) {
      case 'delete':
        return undefined;
      case 'put': {
        const expiresAt = write.ttlMs === undefined ? Infinity : this.#clock.now() + write.ttlMs;
        return { value: write.value, version, expiresAt };
      }
      case 'increment': {
        const before = current.entries.get(write.key)?.value ?? 0;
        if (typeof before !== 'number') return 'not_a_number';
        return { value: before + write.by, version, expiresAt: Infinity };
      }
    }
  }

  #publish(name: string, partition: Partition, event: Json): void {
    const { version, events } = partition;
    events.push({ version, at: this.#clock.now(), event });
    if (events.length > this.#keepEvents) partition.trimmedTo = events.shift()?.version ?? 0;
    for (const listener of this.#listeners.get(name) ?? []) listener(version);
  }
}

function isConflict({ ifVersion, ifKeys }: Commit, current: Snapshot): boolean {
  if (ifVersion !== undefined && ifVersion !== current.version) return true;
  return [...(ifKeys ?? [])].some(
    ([key, version]) => (current.entries.get(key)?.version ?? 0) !== version,
  );
}
