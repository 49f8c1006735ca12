import { ManualClock } from '@starloom/core/testing';
import { MemoryCoordinationStore } from '../src/testing.ts';
import { coordinationStoreContract } from './contract/coordination-store-contract.ts';

coordinationStoreContract('memory', async () => {
  const clock = new ManualClock();
  const advance = async (ms: number) => clock.advance(ms);
  const [keepsEvents, keepsEventBytes] = [100, 16_000];
  const limits = { keepEvents: keepsEvents, keepEventBytes: keepsEventBytes };
  const store = new MemoryCoordinationStore({ clock, ...limits });
  return { store, keepsEvents, keepsEventBytes, advance, close: async () => {} };
});
