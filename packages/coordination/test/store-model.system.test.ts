import { silentLog } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import type { CoordinationStore } from '../src/coordination-store.ts';
import { openEmbeddedStore } from '../src/embedded-store.ts';
import { MemoryCoordinationStore } from '../src/testing.ts';
import {
  checkAgainstModel,
  MODEL_KEEPS_EVENTS as keepEvents,
  MODEL_SEEDS,
  MODEL_START,
  type ModelSubject,
} from './store-operations.ts';

describe.each(MODEL_SEEDS)('a store that takes random steps (seed %i)', (seed) => {
  it('does what the model says, in memory', async () => {
    await checkAgainstModel(openInMemory, { seed, runs: 200 });
  });

  it('does what the model says, in a file that is closed and opened again', async () => {
    await checkAgainstModel(openInFile, { seed, runs: 15 });
  });
});

describe('a store that does not do what it should is caught when it', () => {
  const broken: Record<string, (store: CoordinationStore) => Partial<CoordinationStore>> = {
    'writes without the lease': (store) => ({
      commit: (partition, { fence: _, ...commit }) => store.commit(partition, commit),
    }),
    'writes over another version': (store) => ({
      commit: (partition, { ifKeys: _, ...commit }) => store.commit(partition, commit),
    }),
    'does a repeated commit again': (store) => ({
      commit: (partition, { idempotency: _, ...commit }) => store.commit(partition, commit),
    }),
    'serves the queue out of order': (store) => ({
      acquire: (partition, { priority: _, ...request }) => store.acquire(partition, request),
    }),
    'keeps the place of who gave up': () => ({ cancelWait: async () => false }),
    'never looks at the time': () => ({ tick: async () => {} }),
    'hides that events are gone': (store) => ({
      events: async (...page) => ({ ...(await store.events(...page)), gap: false }),
    }),
  };

  it.each(Object.keys(broken))('%s', async (name) => {
    const open = async () => {
      const subject = await openInMemory();
      const { store } = subject;
      const methods = broken[name]?.(store) ?? {};
      const get = (_: CoordinationStore, key: string | symbol) =>
        Reflect.get(methods, key) ?? Reflect.get(store, key).bind(store);
      return { ...subject, store: new Proxy(store, { get }) };
    };
    await expect(checkAgainstModel(open, { seed: 1, runs: 300 })).rejects.toThrow();
  });
});

async function openInMemory(): Promise<ModelSubject> {
  const clock = new ManualClock(MODEL_START);
  const store = new MemoryCoordinationStore({ clock, keepEvents });
  return { store, advance: async (ms) => clock.advance(ms), close: async () => {} };
}

async function openInFile(): Promise<ModelSubject> {
  const clock = new ManualClock(MODEL_START);
  const folder = await temporaryFolder();
  const path = `${folder.path}/coordination.db`;
  const options = { path, clock, log: silentLog, keepEvents, smallestLogBytes: 1000 };
  const open = () => openEmbeddedStore(options);
  let store = await open();
  return {
    store,
    advance: async (ms) => clock.advance(ms),
    reopen: async () => {
      await store.close();
      store = await open();
      return store;
    },
    close: async () => folder[Symbol.asyncDispose](),
  };
}
