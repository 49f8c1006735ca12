import type { CallContext } from '../src/index.ts';
import {
  adapterContract,
  ContractAgent,
  exampleManifest,
  ManualClock,
  MemoryAdapter,
  MemoryRegistry,
  registryContract,
} from '../src/testing/index.ts';

const nothing = async () => {};

adapterContract(
  'memory',
  async () => {
    const agent = new ContractAgent();
    const adapter = new MemoryAdapter(exampleManifest(), ({ input, trace, hop }, signal, context) =>
      agent.work({
        task: input.task,
        seen: { trace_id: trace.trace_id, ...hop },
        signal,
        conversation: converse(context),
        ask: async (requests) => {
          if (context.responses) return context.responses;
          const canceled = requests.map(({ id }) => ({ id, action: 'cancel' as const }));
          return (
            (await context.ask?.(requests, { handle: { asked: requests.length } })) ?? canceled
          );
        },
      }),
    );
    return { adapter, stopAgent: () => adapter.close(), close: nothing };
  },
  { asks: true, waits: true, conversations: true },
);

function converse({ handle, keep }: CallContext): string {
  const conversation = String(handle?.conversation ?? crypto.randomUUID());
  keep?.({ conversation });
  return conversation;
}

registryContract('memory', async () => {
  const clock = new ManualClock();
  const registry = new MemoryRegistry([], clock);
  const advance = async (ms: number) => {
    clock.advance(ms);
    registry.registrar.expire();
  };
  return { registry, advance, close: nothing };
});
