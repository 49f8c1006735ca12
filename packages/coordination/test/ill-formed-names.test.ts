import { describe, expect, it } from 'vitest';
import { World } from './support/world.ts';

/** Halves of surrogate pairs: as UTF-8 they are one and the same. */
const HALVES = ['\ud800', 'a\udc00b'];
const inSession = { session_id: 's' };

describe('names that are not well-formed text are refused, since not every engine tells them apart:', () => {
  it.each<[string, string, (half: string) => object]>([
    ['keys of a merge', 'context_coordinator.update', (half) => ({ update: { [half]: 1 } })],
    [
      'keys of a patch',
      'context_coordinator.update',
      (half) => ({ op: 'patch', update: [{ op: 'add', path: `/${half}`, value: 1 }] }),
    ],
    [
      'keys that a patch removes',
      'context_coordinator.update',
      (half) => ({ op: 'patch', update: { [half]: null } }),
    ],
    [
      'keys of an increment',
      'context_coordinator.update',
      (half) => ({ op: 'increment', update: { [half]: 1 } }),
    ],
    [
      'keys of expected versions',
      'context_coordinator.update',
      (half) => ({ update: { a: 1 }, if_versions: { [half]: 0 } }),
    ],
    ['keys to read', 'context_coordinator.get', (half) => ({ keys: [half] })],
    ['locks to acquire', 'memory_locker.acquire', (half) => ({ resource: half })],
    ['locks to look at', 'memory_locker.status', (half) => ({ resource: half })],
    ['locks to break', 'memory_locker.break', (half) => ({ resource: half })],
    ['tickets', 'memory_locker.cancel', (half) => ({ ticket: `1:${half}` })],
    [
      'idempotency keys',
      'context_coordinator.update',
      (half) => ({ update: { a: 1 }, idempotency_key: half }),
    ],
  ])('%s', async (_, method, params) => {
    await using world = new World();
    const agent = await world.agent('a');
    await agent.call('session_manager.create', { ...inSession, mode: 'cas' });
    for (const half of HALVES) {
      const error = await agent.refused(method, { ...inSession, ...params(half) });
      expect(error).toMatchObject({ code: -32602, data: { fix: expect.any(String) } });
    }
    await agent.call(method as never, { ...inSession, ...params('\u{1F600}') } as never);
  });

  it.each<[string, string, (half: string) => object]>([
    ['tools', 'tool_cache.put', (half) => ({ tool: half, result: 1 })],
    ['tags', 'tool_cache.put', (half) => ({ tool: 't', result: 1, tags: [half] })],
    ['tags to invalidate', 'tool_cache.invalidate', (half) => ({ tags: [half] })],
  ])('%s', async (_, method, params) => {
    await using world = new World();
    const agent = await world.agent('a');
    for (const half of HALVES) {
      const error = await agent.refused(method, params(half));
      expect(error).toMatchObject({ code: -32602, data: { fix: expect.any(String) } });
    }
    await agent.call(method as never, params('\u{1F600}') as never);
  });
});

it('values may hold any text', async () => {
  await using world = new World();
  const agent = await world.agent('a');
  await agent.call('session_manager.create', { ...inSession, mode: 'cas' });
  const update = { a: { '\ud800': '\udc00' } };
  await agent.call('context_coordinator.update', { ...inSession, update });
  const { context } = await agent.call('context_coordinator.get', inSession);
  expect(context).toEqual(update);
});
