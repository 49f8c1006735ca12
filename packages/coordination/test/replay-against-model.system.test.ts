import { join } from 'node:path';
import { silentLog } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import { temporaryFolder } from '@starloom/testkit';
import { describe, it } from 'vitest';
import type { CoordinationStore } from '../src/coordination-store.ts';
import { openEmbeddedStore } from '../src/embedded-store.ts';
import { leaveBehind } from './fixtures/embedded-world.ts';
import {
  checkAgainstModel,
  MODEL_KEEPS_EVENTS as keepEvents,
  MODEL_SEEDS,
  MODEL_START,
  type ModelSubject,
} from './store-operations.ts';

/** Parts so small that a snapshot takes many batches, most of which a crash is in the midst of. */
const options = { log: silentLog, keepEvents, smallestLogBytes: 400, bytesPerPart: 30 };

describe.each(MODEL_SEEDS)('a store that crashes amid its snapshots (seed %i)', (seed) => {
  it('does what the model says', async () => {
    await checkAgainstModel(openInFile, { seed, runs: 15 });
  });
});

async function openInFile(): Promise<ModelSubject> {
  const clock = new ManualClock(MODEL_START);
  const folder = await temporaryFolder();
  const left: CoordinationStore[] = [];
  let path = join(folder.path, '0.db');
  let store = await openEmbeddedStore({ path, clock, ...options });
  return {
    store,
    advance: async (ms) => clock.advance(ms),
    reopen: async () => {
      left.push(store);
      const copy = join(folder.path, `${left.length}.db`);
      await leaveBehind(path, copy);
      path = copy;
      store = await openEmbeddedStore({ path, clock, ...options });
      return store;
    },
    close: async () => {
      await Promise.all(left.map((one) => one.close()));
      await folder[Symbol.asyncDispose]();
    },
  };
}
