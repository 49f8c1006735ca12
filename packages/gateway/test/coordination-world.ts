import { type CoordinationStore, createCoordination, openStore } from '@starloom/coordination';
import { silentLog } from '@starloom/core';
import { expect } from 'vitest';
import { openTestGateway } from './test-gateway.ts';

export type CoordinationWorld = Awaited<ReturnType<typeof openCoordinationWorld>>;

/** A gateway with coordination in memory, and a way to act in it as any agent of any principal. */
export async function openCoordinationWorld(
  agents: Parameters<typeof openTestGateway>[0] = {},
  config: Record<string, unknown> = {},
  givenStore?: CoordinationStore,
) {
  const store = givenStore ?? (await openStore({ kind: 'embedded' }, { log: silentLog }));
  const coordination = createCoordination({ store, log: silentLog });
  const opened = await openTestGateway(agents, { coordination, config });
  return {
    url: opened.url,
    gateway: opened.gateway,
    registry: opened.registry,
    coordination,
    /** What a request of an agent came to; fails the test when it was refused. */
    async act(method: string, params: object, principal = 'tester') {
      const peer = coordination.connect({ principal: { id: principal } });
      const answer = await peer.handle({ jsonrpc: '2.0', id: 1, method, params });
      await peer.close();
      expect(answer).toHaveProperty('result');
      return (answer as { result: Record<string, unknown> }).result;
    },
    [Symbol.asyncDispose]: async () => {
      await opened[Symbol.asyncDispose]();
      await coordination.close();
      await store.close();
    },
  };
}
