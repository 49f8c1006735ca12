// Clients of the current revision that also speak an older one when they are set to. They go through
// what differs most between the revisions: how a client is asked.

import { describeWithPeer } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answers, itIsAsked } from './asking-scenarios.ts';
import { openTarget, type Transport } from './client-world.ts';
import { CLIENTS_SET_BACK } from './clients.ts';
import { type Driver, openDriver } from './driver.ts';
import { everythingAgent } from './real-agents.ts';

const WORLD = {
  agents: [everythingAgent('everything')],
  config: { telemetry: { log_level: 'warn' } },
};

for (const client of CLIENTS_SET_BACK) {
  describeWithPeer(client.name, client.prepare, (path) => {
    describe.each<Transport>(['http', 'stdio'])('over %s', (transport) => {
      const stack = new AsyncDisposableStack();
      let driver: Driver;

      beforeAll(async () => {
        const { target } = stack.use(await openTarget[transport](WORLD));
        const to = { ...target, name: 'interop', mode: 'legacy', answers: answers() } as const;
        driver = stack.use(await openDriver(client.program(path), to));
      });

      afterAll(() => stack.disposeAsync());

      it('[G22] speaks the older revision', () => {
        expect(driver.protocolVersion).toBe(client.revision);
      });

      itIsAsked(() => driver);
    });
  });
}
