import { expect, it } from 'vitest';
import { World } from './support/world.ts';

it('refuses a patch that would make more than a context may hold, and changes nothing', async () => {
  await using world = new World({ limits: { context_bytes: 50_000 } });
  const client = await world.agent('a');
  const { session_id } = await client.call('session_manager.create', { mode: 'cas' });
  const context = { d: { a: 'x'.repeat(1_000) } };
  await client.call('context_coordinator.update', { session_id, update: context });
  const doubling = (times: number) =>
    Array.from({ length: times }, (_, n) => ({ op: 'copy', from: '/d', path: `/d/n${n}` }));
  const bomb = { session_id, op: 'patch', update: doubling(25) } as const;
  expect(await client.refused('context_coordinator.update', bomb)).toMatchObject({
    code: -32016,
    data: { limit: 'context_bytes', allowed: 50_000, operation: 5 },
  });
  const read = async () => (await client.call('context_coordinator.get', { session_id })).context;
  expect(await read()).toEqual(context);
  await client.call('context_coordinator.update', { ...bomb, update: doubling(2) });
  const once = { ...context.d, n0: context.d };
  expect(await read()).toEqual({ d: { ...once, n1: once } });
});
