import { silentLog } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import { openEmbeddedStore } from '../src/embedded-store.ts';
import { MemoryCoordinationStore } from '../src/testing.ts';
import { waitRunsOut } from './support/wait-runs-out.ts';

waitRunsOut('for tests', async () => {
  const clock = new ManualClock();
  const store = new MemoryCoordinationStore({ clock });
  const advance = async (ms: number) => clock.advance(ms);
  return { store, advance, [Symbol.asyncDispose]: () => store.close() };
});

waitRunsOut('in memory', async () => {
  const clock = new ManualClock();
  const store = await openEmbeddedStore({ clock, log: silentLog });
  const advance = async (ms: number) => clock.advance(ms);
  return { store, advance, [Symbol.asyncDispose]: () => store.close() };
});
