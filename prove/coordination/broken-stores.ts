// Stores with one known fault each. A proof that lets one of them pass proves nothing.

import type { Commit, CoordinationStore, EventPage } from '@starloom/coordination';
import {
  grantInTwoSteps,
  incrementInTwoSteps,
  publishOnly,
  readFromCopy,
  shareBesideWriters,
  withChanges,
} from './store-changes.ts';
import type { Invariant } from './violation.ts';

export interface BrokenStore {
  /** What the checkers must find. */
  readonly breaks: Invariant;
  readonly fault: string;
  readonly around: (store: CoordinationStore) => CoordinationStore;
}

const AGENTS = 'agents';

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
    fault: 'a shared lock keeps nobody out',
    breaks: 'shared_keeps_writers_out',
    around: shareBesideWriters,
  },
  {
    fault: 'what is published while a reader is away is lost',
    breaks: 'delivered_once_and_whole',
    around: publishOnly,
  },
  {
    fault: 'every tenth event is passed over',
    breaks: 'delivered_once_and_whole',
    around: (store) =>
      withChanges(store, {
        async events(partition, after, limit): Promise<EventPage> {
          const page = await store.events(partition, after, limit);
          return { ...page, events: page.events.filter(({ version }) => version % 10 > 0) };
        },
      }),
  },
  {
    fault: 'a gap is said instead of anything else',
    breaks: 'delivered_once_and_whole',
    around: (store) =>
      withChanges(store, {
        async events(partition): Promise<EventPage> {
          const { version } = await store.read(partition, []);
          return { events: [], cursor: version, gap: true };
        },
      }),
  },
  {
    fault: 'a gap is said to subscribers, and the log is whole for whoever asks for all of it',
    breaks: 'delivered_once_and_whole',
    around: (store) =>
      withChanges(store, {
        async events(partition, after, limit): Promise<EventPage> {
          const page = await store.events(partition, after, limit);
          const isGap = after > 0 && page.events.length > 0;
          return isGap ? { ...page, events: [], gap: true } : page;
        },
      }),
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
    fault: 'what was done under a key is done again',
    breaks: 'repeated_once',
    around: (store) =>
      withChanges(store, {
        commit: (partition, { idempotency: _, ...commit }) => store.commit(partition, commit),
        acquire: (partition, { idempotency: _, ...lease }) => store.acquire(partition, lease),
      }),
  },
  {
    fault: 'a lock is granted again when it is asked for again',
    breaks: 'repeated_once',
    around: (store) =>
      withChanges(store, {
        acquire: (partition, { idempotency: _, ...lease }) => store.acquire(partition, lease),
      }),
  },
  {
    fault: 'reads are answered from a copy that lags',
    breaks: 'linearizable',
    around: readFromCopy,
  },
];

function isUpdate({ event }: Commit): boolean {
  return JSON.stringify(event ?? null).includes('"context.update"');
}
