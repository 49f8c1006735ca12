import { ManualClock } from '@starloom/core/testing';
import { createMemoryJobEngine } from '../src/index.ts';
import { jobEngineContract } from './contract/job-engine-contract.ts';

jobEngineContract('memory', async () => {
  const clock = new ManualClock();
  const advance = async (ms: number) => clock.advance(ms);
  const now = () => clock.now();
  return { engine: createMemoryJobEngine(clock), now, advance, close: async () => {} };
});
