import { describe, expect, it } from 'vitest';
import type { Commit } from '../src/coordination-store.ts';
import { BINDINGS, keyOf, META, partitionOf, ROSTER } from '../src/partitions.ts';
import { beforeCommit, writesKey } from './support/before-commit.ts';
import { World } from './support/world.ts';

const session_id = 's';
const session = partitionOf.session(session_id);

async function members(client: Awaited<ReturnType<World['agent']>>) {
  const got = await client.call('session_manager.get', { session_id });
  return got.members.map(({ agent_id }) => agent_id).sort();
}

describe('two who do something at the same moment', () => {
  it('are both members when they join', async () => {
    await using world = new World();
    const [owner, a, b] = [await world.agent('o'), await world.agent('a'), await world.agent('b')];
    await owner.call('session_manager.create', { session_id });
    const moment = beforeCommit(
      world.store,
      (partition, commit) => partition === session && writesKey(commit, (key) => key === ROSTER),
      () => b.call('session_manager.join', { session_id }),
    );
    await a.call('session_manager.join', { session_id });
    expect(moment.hasHappened).toBe(true);
    expect(await members(owner)).toEqual(['a', 'b', 'o']);
  });

  it('are all members when fifty join at once', async () => {
    await using world = new World();
    const owner = await world.agent('o');
    await owner.call('session_manager.create', { session_id });
    const names = Array.from({ length: 50 }, (_, n) => `a${n}`);
    const clients = await Promise.all(names.map((name) => world.agent(name)));
    await Promise.all(clients.map((each) => each.call('session_manager.join', { session_id })));
    expect(await members(owner)).toEqual([...names, 'o'].sort());
  });

  it('are in and out when one joins while the other leaves', async () => {
    await using world = new World();
    const [owner, a, b] = [await world.agent('o'), await world.agent('a'), await world.agent('b')];
    await owner.call('session_manager.create', { session_id });
    await b.call('session_manager.join', { session_id });
    const isRemoval = (partition: string, commit: Commit) =>
      partition === session && commit.writes.some(({ kind }) => kind === 'delete');
    const moment = beforeCommit(world.store, isRemoval, () =>
      a.call('session_manager.join', { session_id }),
    );
    await b.call('session_manager.leave', { session_id });
    expect(moment.hasHappened).toBe(true);
    expect(await members(owner)).toEqual(['a', 'o']);
  });

  it('do not reopen a session when one joins while the other ends it', async () => {
    await using world = new World();
    const [owner, a] = [await world.agent('o'), await world.agent('a')];
    await owner.call('session_manager.create', { session_id });
    beforeCommit(
      world.store,
      (partition, commit) => partition === session && writesKey(commit, (key) => key === ROSTER),
      () => owner.call('session_manager.end', { session_id }),
    );
    expect((await a.refused('session_manager.join', { session_id })).code).toBe(-32004);
    const { entries } = await world.store.read(session, [META, keyOf.member('a')]);
    expect([...entries.keys()]).toEqual([META]);
  });

  it('are not both the owner of an agent id', async () => {
    await using world = new World();
    const [one, two] = [world.connect('one'), world.connect('two')];
    const registration = { agent_id: 'contested', capabilities: [] };
    const moment = beforeCommit(
      world.store,
      (partition) => partition === BINDINGS,
      () => two.call('agent_registry.register', registration),
    );
    expect((await one.refused('agent_registry.register', registration)).code).toBe(-32001);
    expect(moment.hasHappened).toBe(true);
    const { entries } = await world.store.read(BINDINGS, ['contested']);
    expect(entries.get('contested')?.value).toBe('two');
    await two.call('agent_registry.heartbeat', { agent_id: 'contested' });
    expect((await one.refused('agent_registry.heartbeat', { agent_id: 'contested' })).code).toBe(
      -32001,
    );
  });
});
