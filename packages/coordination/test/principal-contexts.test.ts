import { describe, expect, it } from 'vitest';
import { World } from './support/world.ts';

const contextsOf = (world: World) => world.coordination.services.principalContexts;

/** What a follower of one session is told. */
async function follow(world: World, principal: string, session: string) {
  const told: string[] = [];
  const following = await contextsOf(world).follow({ id: principal }, session, {
    updated: () => told.push('updated'),
    over: () => told.push('over'),
  });
  return { told, following };
}

const write = (n: number) => ({ session_id: 's', update: { n }, with_lock: true });

describe('what a principal sees of the sessions of its agents', () => {
  it('is every session that one of them is in, last joined first, at most so many', async () => {
    await using world = new World();
    const [a, b] = [await world.agent('a'), await world.agent('b')];
    for (const session_id of ['one', 'two', 'three']) {
      await a.call('session_manager.create', { session_id });
    }
    await b.call('session_manager.join', { session_id: 'one' });
    const ids = async (principal: string, limit = 10) =>
      (await contextsOf(world).list({ id: principal }, limit)).map(({ session_id }) => session_id);
    expect(await ids('ci')).toEqual(['one', 'three', 'two']);
    expect(await ids('ci', 2)).toEqual(['one', 'three']);
    expect(await ids('elsewhere')).toEqual([]);
    await a.call('session_manager.leave', { session_id: 'one' });
    expect(await ids('ci')).toContain('one');
    await b.call('session_manager.leave', { session_id: 'one' });
    await a.call('session_manager.end', { session_id: 'two' });
    expect(await ids('ci')).toEqual(['three']);
  });

  it('can be read also while its agent is lost, and keeps the session in use', async () => {
    await using world = new World();
    const a = await world.agent('a');
    await a.call('session_manager.create', { session_id: 's', ttl_ms: 10 * 60_000 });
    const { version } = await a.call('context_coordinator.update', write(1));
    for (let minute = 0; minute < 30; minute += 3) {
      await world.advance(3 * 60_000);
      const read = await contextsOf(world).read({ id: 'ci' }, 's');
      expect(read).toMatchObject({ context: { n: 1 }, version, versions: { n: version } });
    }
    await world.advance(11 * 60_000);
    expect(await contextsOf(world).read({ id: 'ci' }, 's')).toBeUndefined();
  });

  it('is nothing of a session of others, whether it is there or not', async () => {
    await using world = new World();
    const a = await world.agent('a');
    await a.call('session_manager.create', { session_id: 's' });
    for (const session of ['s', 'nobodys']) {
      expect(await contextsOf(world).read({ id: 'elsewhere' }, session)).toBeUndefined();
      expect((await follow(world, 'elsewhere', session)).following).toBeUndefined();
    }
  });
});

describe('a principal that follows a session', () => {
  it('is notified of updates, and of nothing after its last known agent has left', async () => {
    await using world = new World();
    const a = await world.agent('a');
    const guest = await world.agent('guest', 'elsewhere');
    await a.call('session_manager.create', { session_id: 's', open: true });
    await guest.call('session_manager.join', { session_id: 's' });
    const mine = await follow(world, 'ci', 's');
    const theirs = await follow(world, 'elsewhere', 's');
    await a.call('context_coordinator.update', write(1));
    await a.call('memory_locker.acquire', { session_id: 's' });
    await expect.poll(() => theirs.told).toEqual(['updated']);
    await a.call('memory_locker.break', { session_id: 's' });
    await guest.call('session_manager.leave', { session_id: 's' });
    await a.call('context_coordinator.update', write(2));
    await expect.poll(() => mine.told).toEqual(['updated', 'updated']);
    expect(theirs.told).toEqual(['updated', 'over']);
    await a.call('session_manager.end', { session_id: 's' });
    await expect.poll(() => mine.told).toEqual(['updated', 'updated', 'over']);
  });

  it('is notified once that a right was revoked', async () => {
    await using world = new World();
    const a = await world.agent('a');
    const guest = await world.agent('guest', 'elsewhere');
    await a.call('session_manager.create', { session_id: 's' });
    await a.call('session_manager.grant', { session_id: 's', member: 'guest', role: 'reader' });
    await guest.call('session_manager.join', { session_id: 's' });
    const theirs = await follow(world, 'elsewhere', 's');
    await a.call('session_manager.revoke', { session_id: 's', member: 'guest' });
    await a.call('context_coordinator.update', write(1));
    await a.call('session_manager.end', { session_id: 's' });
    await expect.poll(() => theirs.told).toEqual(['over']);
  });

  it('is notified of sessions that begin and end when they are visible, on any gateway', async () => {
    await using world = new World();
    const other = world.another();
    const seen: number[] = [];
    const lists = other.services.principalContexts;
    const following = await lists.followList({ id: 'ci' }, () => {
      void lists.list({ id: 'ci' }, 10).then(({ length }) => seen.push(length));
    });
    const a = await world.agent('a');
    await a.call('session_manager.create', { session_id: 's' });
    await expect.poll(() => seen.at(-1)).toBe(1);
    await a.call('session_manager.end', { session_id: 's' });
    await expect.poll(() => seen.at(-1)).toBe(0);
    following.stop();
    await other.close();
  });
});
