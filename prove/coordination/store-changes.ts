// Stores that do a thing in a wrong way, each around one that does it right.

import { setTimeout as delay } from 'node:timers/promises';
import type { CoordinationStore, Lease, Snapshot } from '@starloom/coordination';
import type { Json } from '@starloom/core';

const CONTEXT = 'context';
const RACE_MS = 2;
const AWAY_MS = 10;

export function withChanges(
  store: CoordinationStore,
  changes: Partial<CoordinationStore>,
): CoordinationStore {
  return new Proxy(store, {
    get(target, name) {
      const changed = Reflect.get(changes, name);
      if (changed !== undefined) return changed;
      const own: unknown = Reflect.get(target, name, target);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}

/** Looks whether the lock is free, and takes it a moment later. */
export function grantInTwoSteps(store: CoordinationStore): CoordinationStore {
  const granted = new Map<string, Lease>();
  const idOf = (partition: string, token: number) => `${partition} ${token}`;
  let latest = 0;
  return withChanges(store, {
    async acquire(partition, request) {
      if (request.resource !== CONTEXT) return await store.acquire(partition, request);
      const seen = latest;
      const held = [...granted].filter(([id, { expiresAt }]) => {
        return id.startsWith(`${partition} `) && expiresAt > Date.now();
      });
      if (held.length > 0) return { heldBy: held.map(([, lease]) => lease) };
      await delay(RACE_MS);
      const { resource, holder, mode, ttlMs } = request;
      latest = Math.max(seen + 1, Date.now());
      const lease = { resource, holder, mode, token: latest, expiresAt: Date.now() + ttlMs };
      granted.set(idOf(partition, latest), lease);
      return { lease };
    },
    async leases(partition, resource) {
      const known = [...granted].filter(([id]) => id.startsWith(`${partition} `));
      return [...known.map(([, lease]) => lease), ...(await store.leases(partition, resource))];
    },
    async release(partition, lease) {
      if (granted.delete(idOf(partition, lease.token))) return { released: true, granted: [] };
      return await store.release(partition, lease);
    },
    async commit(partition, { fence, ...commit }) {
      const isOurs = fence && granted.has(idOf(partition, fence.token));
      return await store.commit(partition, isOurs ? commit : { ...commit, fence });
    },
  });
}

/** Shared leases are those of another resource, which nobody writes under. */
export function shareBesideWriters(store: CoordinationStore): CoordinationStore {
  const aside = 'context, shared';
  const named = (lease: Lease) =>
    lease.resource === aside ? { ...lease, resource: CONTEXT } : lease;
  return withChanges(store, {
    async acquire(partition, request) {
      if (request.mode !== 'shared') return await store.acquire(partition, request);
      const acquired = await store.acquire(partition, { ...request, resource: aside });
      return 'lease' in acquired ? { lease: named(acquired.lease) } : acquired;
    },
    async leases(partition, resource) {
      const all = (await store.leases(partition)).map(named);
      return all.filter((lease) => resource === undefined || lease.resource === resource);
    },
    async renew(partition, lease, ttlMs) {
      const shared = await store.renew(partition, { ...lease, resource: aside }, ttlMs);
      return shared ? named(shared) : await store.renew(partition, lease, ttlMs);
    },
    async release(partition, lease) {
      const shared = await store.release(partition, { ...lease, resource: aside });
      return shared.released ? shared : await store.release(partition, lease);
    },
  });
}

/** Ten times a second the reader is away for a moment; nothing that happens then comes again. */
export function publishOnly(store: CoordinationStore): CoordinationStore {
  return withChanges(store, {
    async events(partition, after, limit) {
      const page = await store.events(partition, after, limit);
      return { ...page, events: page.events.filter(({ at }) => at % 100 >= AWAY_MS) };
    },
  });
}

export function incrementInTwoSteps(store: CoordinationStore): CoordinationStore {
  return withChanges(store, {
    async commit(partition, commit) {
      const keys = commit.writes.flatMap(({ kind, key }) => (kind === 'increment' ? [key] : []));
      if (keys.length === 0) return await store.commit(partition, commit);
      const { entries } = await store.read(partition, keys);
      await delay(RACE_MS);
      const writes = commit.writes.map((write) => {
        if (write.kind !== 'increment') return write;
        const before: Json = entries.get(write.key)?.value ?? 0;
        return { kind: 'put', key: write.key, value: Number(before) + write.by } as const;
      });
      return await store.commit(partition, { ...commit, writes });
    },
  });
}

export function readFromCopy(store: CoordinationStore): CoordinationStore {
  const copies = new Map<string, { readonly snapshot: Snapshot; readonly until: number }>();
  return withChanges(store, {
    async read(partition, keys) {
      const id = `${partition} ${keys?.join()}`;
      const copy = copies.get(id);
      if (copy && copy.until > performance.now()) return copy.snapshot;
      const snapshot = await store.read(partition, keys);
      copies.set(id, { snapshot, until: performance.now() + 10 * RACE_MS });
      return snapshot;
    },
  });
}
