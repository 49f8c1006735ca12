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
  const client = new Client(gateways[0], { principal: 'night' });
  const guest = { agent_id: 'guest-of-the-day', mode: 'cas' as const };
  const { session_id } = await client.call('session_manager.create', guest);
  await client.call('context_coordinator.update', { session_id, update: { kept: true } });
  for (const gateway of gateways) await gateway.close();
  await store.close();

  const reopened = await open();
  const next = createCoordination({ store: reopened, clock });
  const again = new Client(next, { principal: 'night' });
  expect((await again.call('context_coordinator.get', { session_id })).context).toEqual({
    kept: true,
  });
  const { members } = await again.call('session_manager.get', { session_id });
  expect(members).toMatchObject([{ agent_id: guest.agent_id, connected: true }]);
  clock.advance(60_000);
  await next.sweep();
  const refused = await again.refused('context_coordinator.get', { session_id });
  expect(refused).toMatchObject({ code: -32015, data: { agent_id: guest.agent_id } });
  await next.close();
  await reopened.close();
});
