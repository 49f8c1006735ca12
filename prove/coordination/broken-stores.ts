// Stores with one known fault each. A proof that lets one of them pass proves nothing.

import { setTimeout as delay } from 'node:timers/promises';
import type { Commit, CoordinationStore, EventPage, Json, Lease, Snapshot } from '@starloom/core';
import type { Invariant } from './violation.ts';

export interface BrokenStore {
  /** What the checkers must find. */
  readonly breaks: Invariant;
  readonly fault: string;
  readonly around: (store: CoordinationStore) => CoordinationStore;
}

const AGENTS = 'agents';
const CONTEXT = 'context';
const RACE_MS = 2;
const AWAY_MS = 10;

export const BROKEN_STORES: readonly BrokenStore[] = [
  {
    fault: 'tokens are not checked inside the write',
    breaks: 'no_stale_write',
    around: (store) =>
      withChanges(store, {
        commit: (partition, { fence: _, ...commit }) => store.commit(partition, commit),
      }),
  },
  {
    fault: 'the highest token is kept in the lease only and forgotten with it',
    breaks: 'no_stale_write',
    around: (store) =>
      withChanges(store, {
        async commit(partition, { fence, ...commit }) {
          const held = fence ? await store.leases(partition, fence.resource) : [];
          return await store.commit(partition, held.length > 0 ? { ...commit, fence } : commit);
        },
      }),
  },
  { fault: 'a lock is granted in two steps', breaks: 'token_increases', around: grantInTwoSteps },
  {
    fault: 'what is published while a reader is away is lost',
    breaks: 'delivered_once_and_whole',
    around: publishOnly,
  },
  {
    fault: 'an event is delivered twice now and then',
    breaks: 'delivered_once_and_whole',
    around: (store) =>
      withChanges(store, {
        async events(partition, after, limit): Promise<EventPage> {
          const page = await store.events(partition, after, limit);
          const last = page.events.at(-1);
          const isHit = last !== undefined && last.version % 10 === 0;
          return isHit ? { ...page, events: [...page.events, last] } : page;
        },
      }),
  },
  {
    fault: 'an increment reads, waits and writes',
    breaks: 'sum_of_increments',
    around: incrementInTwoSteps,
  },
  {
    fault: 'an earlier life of an agent may still beat',
    breaks: 'single_epoch',
    around: (store) =>
      withChanges(store, {
        async renew(partition, lease, ttlMs) {
          const renewed = await store.renew(partition, lease, ttlMs);
          if (renewed || partition !== AGENTS) return renewed;
          return { ...lease, holder: '', mode: 'exclusive', expiresAt: Date.now() + ttlMs };
        },
        async commit(partition, { fence, ...commit }) {
          return await store.commit(
            partition,
            partition === AGENTS ? commit : { ...commit, fence },
          );
        },
      }),
  },
  {
    fault: 'a write is acknowledged and lost now and then',
    breaks: 'nothing_acknowledged_lost',
    around: (store) =>
      withChanges(store, {
        async commit(partition, commit) {
          const { version } = await store.read(partition, []);
          const isHit = isUpdate(commit) && version % 20 === 0;
          return isHit ? { ok: true, version: version + 1 } : await store.commit(partition, commit);
        },
      }),
  },
  {
    fault: 'reads are answered from a copy that lags',
    breaks: 'linearizable',
    around: readFromCopy,
  },
];

type Changes = Partial<CoordinationStore>;

function withChanges(store: CoordinationStore, changes: Changes): CoordinationStore {
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
function grantInTwoSteps(store: CoordinationStore): CoordinationStore {
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

/** Ten times a second the reader is away for a moment; nothing that happens then comes again. */
function publishOnly(store: CoordinationStore): CoordinationStore {
  return withChanges(store, {
    async events(partition, after, limit) {
      const page = await store.events(partition, after, limit);
      return { ...page, events: page.events.filter(({ at }) => at % 100 >= AWAY_MS) };
    },
  });
}

function incrementInTwoSteps(store: CoordinationStore): CoordinationStore {
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

function readFromCopy(store: CoordinationStore): CoordinationStore {
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

function isUpdate({ event }: Commit): boolean {
  return JSON.stringify(event ?? null).includes('"context.update"');
}
