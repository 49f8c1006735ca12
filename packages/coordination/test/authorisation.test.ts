import { describe, expect, it } from 'vitest';
import { METHODS } from '../src/index.ts';
import { World } from './support/world.ts';

const denied = { code: -32001, data: { reason: 'not_authorised', code: 'AUTH_DENIED' } };

describe('a principal that may not use coordination', () => {
  it('is refused by every method, known or not, and changes nothing', async () => {
    await using world = new World({ mayUse: ({ id }) => id !== 'limited' });
    const limited = world.connect('limited');
    for (const method of [...Object.keys(METHODS), 'no.method']) {
      expect(await limited.refused(method, { agent_id: 'a' })).toMatchObject(denied);
    }
    const other = await world.agent('a', 'other');
    await other.call('session_manager.create', { session_id: 's' });
  });

  it('finds no session as a resource, although its agents were in one', async () => {
    let isLimited = false;
    await using world = new World({ mayUse: () => !isLimited });
    const agent = await world.agent('a', 'limited');
    await agent.call('session_manager.create', { session_id: 's' });
    const { principalContexts: contexts } = world.coordination.services;
    const principal = { id: 'limited' };
    expect(await contexts.list(principal, 10)).toHaveLength(1);
    isLimited = true;
    expect(await contexts.list(principal, 10)).toEqual([]);
    expect(await contexts.read(principal, 's')).toBeUndefined();
    const watcher = { updated: () => {}, over: () => {} };
    expect(await contexts.follow(principal, 's', watcher)).toBeUndefined();
  });
});
