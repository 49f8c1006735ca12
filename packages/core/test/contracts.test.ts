import {
  adapterContract,
  ContractAgent,
  coordinationStoreContract,
  exampleManifest,
  jobStoreContract,
  ManualClock,
  MemoryAdapter,
  MemoryCoordinationStore,
  MemoryJobStore,
  MemoryRegistry,
  registryContract,
} from '../src/testing/index.ts';

const nothing = async () => {};

adapterContract('memory', async () => {
  const agent = new ContractAgent();
  const adapter = new MemoryAdapter(exampleManifest(), ({ input, trace, hop }, signal) =>
    agent.work({ task: input.task, seen: { trace_id: trace.trace_id, ...hop }, signal }),
  );
  return { adapter, stopAgent: () => adapter.close(), close: nothing };
});

registryContract('memory', async () => ({ registry: new MemoryRegistry(), close: nothing }));

jobStoreContract('memory', async () => {
  const clock = new ManualClock();
  const advance = async (ms: number) => clock.advance(ms);
  return { store: new MemoryJobStore(clock), advance, close: nothing };
});

coordinationStoreContract('memory', async () => {
  const clock = new ManualClock();
  const advance = async (ms: number) => clock.advance(ms);
  const [keepsEvents, keepsEventBytes] = [100, 16_000];
  const limits = { keepEvents: keepsEvents, keepEventBytes: keepsEventBytes };
  const store = new MemoryCoordinationStore({ clock, ...limits });
  return { store, keepsEvents, keepsEventBytes, advance, close: nothing };
});
