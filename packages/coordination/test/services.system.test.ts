import { join } from 'node:path';
import { silentLog } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import { temporaryFolder } from '@starloom/testkit';
import { expect, it } from 'vitest';
import { openEmbeddedStore } from '../src/embedded-store.ts';
import { createCoordination } from '../src/index.ts';
import { workday } from './support/workday.ts';
import { Client } from './support/world.ts';

it('agents work together on a store in a file, which the next process takes over', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'coordination.db');
  const clock = new ManualClock();
  const open = () => openEmbeddedStore({ path, clock, log: silentLog });
  const store = await open();
  const gateways = [
    createCoordination({ store, clock }),
    createCoordination({ store, clock }),
  ] as const;
  await workday({ gateways, advance: async (ms) => clock.advance(ms) });
  const client = new Client(gateways[0], { principal: 'ci' });
  const { session_id } = await client.call('session_manager.create', { mode: 'cas' });
  await client.call('context_coordinator.update', { session_id, update: { kept: true } });
  for (const gateway of gateways) await gateway.close();
  await store.close();

  const reopened = await open();
  const next = createCoordination({ store: reopened, clock });
  const again = new Client(next, { principal: 'ci' });
  expect((await again.call('context_coordinator.get', { session_id })).context).toEqual({
    kept: true,
  });
  await next.close();
  await reopened.close();
});
