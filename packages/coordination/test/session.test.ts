import { describe, expect, it, vi } from 'vitest';
import { keyOf, partitionOf } from '../src/partitions.ts';
import { type Client, World } from './support/world.ts';

const DAY_MS = 86_400_000;

describe('sessions', () => {
  it('[C10] are created, joined, listed, left and ended', async () => {
    await using world = new World();
    const [owner, helper] = [await world.agent('owner'), await world.agent('helper')];
    const { session_id, mode } = await owner.call('session_manager.create', {
      metadata: { title: 'report' },
    });
    expect(mode).toBe('lock');
    expect(await helper.call('session_manager.join', { session_id })).toMatchObject({
      role: 'writer',
      state: 'active',
      metadata: { title: 'report' },
    });
    for (const [client, role] of [
      [owner, 'owner'],
      [helper, 'writer'],
    ] as const) {
      const { sessions } = await client.call('session_manager.list', {});
      expect(sessions).toEqual([expect.objectContaining({ session_id, role })]);
    }
    expect(await helper.call('session_manager.leave', { session_id })).toEqual({
      left: true,
      ended: false,
    });
    expect((await helper.call('session_manager.list', {})).sessions).toEqual([]);
    await owner.call('session_manager.end', { session_id });
    expect((await owner.call('session_manager.list', {})).sessions).toEqual([]);
    const error = await owner.refused('context_coordinator.get', { session_id });
    expect(error.code).toBe(-32004);
  });

  it('ends when the last one leaves', async () => {
    await using world = new World();
    const [owner, helper] = [await world.agent('owner'), await world.agent('helper')];
    const { session_id } = await owner.call('session_manager.create', {});
    await helper.call('session_manager.join', { session_id });
    expect((await owner.call('session_manager.leave', { session_id })).ended).toBe(false);
    expect((await helper.call('session_manager.leave', { session_id })).ended).toBe(true);
    expect((await owner.refused('session_manager.join', { session_id })).code).toBe(-32004);
  });

  it('release everything at the end, tell the members, and are forgotten after a minute', async () => {
    await using world = new World();
    const [owner, helper] = [await world.agent('owner'), await world.agent('helper')];
    const { session_id } = await owner.call('session_manager.create', { mode: 'cas' });
    await helper.call('session_manager.join', { session_id });
    await helper.call('context_coordinator.update', { session_id, update: { a: 1 } });
    await helper.call('memory_locker.acquire', { session_id, ttl_ms: 3_600_000 });
    await owner.call('memory_locker.acquire', { session_id, wait_ms: 600_000, async: true });
    await owner.call('session_manager.checkpoint', { session_id });
    await helper.call('shared_buffer.put', { session_id, content: 'x' });
    await owner.call('session_manager.end', { session_id });
    await expect
      .poll(() => helper.pushed('session_manager.state_changed'))
      .toEqual([expect.objectContaining({ session_id, state: 'ended', agent_id: 'owner' })]);
    expect((await owner.call('session_manager.get', { session_id })).state).toBe('ended');
    const listed = async (client: Client, params: object) =>
      (await client.call('session_manager.list', params)).sessions;
    for (const member of [owner, helper]) {
      expect(await listed(member, { state: 'ended' })).toMatchObject([
        { session_id, state: 'ended' },
      ]);
      for (const params of [{}, { state: 'active' }]) {
        expect(await listed(member, params)).toEqual([]);
      }
    }
    for (const kind of ['session', 'history', 'chunks', 'chunk-bodies']) {
      expect(await world.store.leases(`${kind}:${session_id}`), kind).toEqual([]);
      expect(await world.store.waiting(`${kind}:${session_id}`), kind).toEqual([]);
    }
    expect((await world.store.read(`history:${session_id}`)).entries.size).toBe(0);
    expect((await world.store.read(`chunk-bodies:${session_id}`)).entries.size).toBe(0);
    await world.advance(61_000);
    expect((await owner.refused('session_manager.get', { session_id })).code).toBe(-32004);
    expect(await listed(await world.agent('owner'), { state: 'ended' })).toEqual([]);
    expect((await world.store.read('agent:owner')).entries.size).toBe(0);
    expect(await world.store.read(`session:${session_id}`)).toEqual({
      version: 0,
      entries: new Map(),
    });
    expect((await world.store.read('sessions')).entries.size).toBe(0);
  });

  it('end by themselves when they were not used, and not while they are', async () => {
    await using world = new World({ heartbeatIntervalMs: DAY_MS });
    const client = await world.agent('a');
    const { session_id } = await client.call('session_manager.create', { ttl_ms: 60_000 });
    for (let n = 0; n < 10; n += 1) {
      await world.advance(45_000);
      await client.call('context_coordinator.get', { session_id });
    }
    await world.advance(61_000);
    expect((await client.call('session_manager.get', { session_id })).state).toBe('ended');
    await expect
      .poll(() => client.pushed('session_manager.state_changed'))
      .toEqual([expect.objectContaining({ reason: 'expired' })]);
    await world.advance(61_000);
    expect((await client.refused('session_manager.get', { session_id })).code).toBe(-32004);
  });

  it('stay in use for one who only writes', async () => {
    await using world = new World({ heartbeatIntervalMs: DAY_MS });
    const client = await world.agent('a');
    const { session_id } = await client.call('session_manager.create', {
      ttl_ms: 60_000,
      mode: 'cas',
    });
    for (let n = 0; n < 5; n += 1) {
      await world.advance(45_000);
      await client.call('context_coordinator.update', { session_id, update: { n } });
    }
  });

  it('are seen by their members only: an unknown and a forbidden id look the same', async () => {
    await using world = new World();
    const [owner, stranger] = [await world.agent('owner'), await world.agent('s', 'elsewhere')];
    const colleague = await world.agent('colleague');
    const { session_id } = await owner.call('session_manager.create', {});
    const anyToken = { lock_token: 1 };
    const chunk_id = `sha256:${'0'.repeat(64)}`;
    for (const [method, params] of [
      ['session_manager.get', {}],
      ['session_manager.leave', {}],
      ['session_manager.end', {}],
      ['session_manager.suspend', {}],
      ['session_manager.resume', {}],
      ['session_manager.checkpoint', {}],
      ['session_manager.checkpoints', {}],
      ['session_manager.fork', {}],
      ['session_manager.grant', { member: 'x', role: 'owner' }],
      ['session_manager.revoke', { member: 'x' }],
      ['context_coordinator.get', {}],
      ['context_coordinator.update', { update: { a: 1 }, ...anyToken }],
      ['context_coordinator.update', { update: { a: 1 }, with_lock: true }],
      ['context_coordinator.subscribe', {}],
      ['context_coordinator.events', {}],
      ['context_coordinator.history', {}],
      ['memory_locker.acquire', {}],
      ['memory_locker.renew', anyToken],
      ['memory_locker.release', anyToken],
      ['memory_locker.cancel', { ticket: 'x' }],
      ['memory_locker.status', {}],
      ['memory_locker.break', { resource: 'context' }],
      ['tool_cache.get', { tool: 't', scope: 'session' }],
      ['tool_cache.put', { tool: 't', result: 1, scope: 'session' }],
      ['shared_buffer.put', { content: 'x' }],
      ['shared_buffer.get', { chunk_id }],
      ['shared_buffer.list', {}],
      ['shared_buffer.stats', {}],
    ] as const) {
      const errors = [
        await stranger.refused(method, { session_id, ...params }),
        await colleague.refused(method, { session_id, ...params }),
        await stranger.refused(method, { session_id: 'unknown', ...params }),
      ].map(({ data, ...error }) => ({
        ...error,
        data: JSON.stringify(data).replaceAll(session_id, 'unknown'),
      }));
      expect(errors[0]?.code, method).toBe(-32004);
      expect(errors[0], method).toEqual(errors[2]);
      expect(errors[1], method).toEqual(errors[2]);
    }
    expect((await stranger.refused('session_manager.join', { session_id })).code).toBe(-32004);
    expect((await stranger.call('session_manager.list', {})).sessions).toEqual([]);
  });

  it('hold an agent of their own principal to the role it was given', async () => {
    await using world = new World();
    const [owner, bob] = [await world.agent('owner'), await world.agent('bob')];
    const access = { agents: { bob: 'reader' } } as const;
    const { session_id } = await owner.call('session_manager.create', { access });
    const joined = await bob.call('session_manager.join', { session_id, role: 'owner' });
    expect(joined.role).toBe('reader');
    await owner.call('session_manager.grant', { session_id, member: 'bob', role: 'writer' });
    const again = await bob.call('session_manager.join', { session_id, role: 'owner' });
    expect(again.role).toBe('writer');
  });

  it('let in whom their access list names, in that role', async () => {
    await using world = new World();
    const owner = await world.agent('owner');
    const { session_id } = await owner.call('session_manager.create', {
      mode: 'cas',
      access: { agents: { reader: 'reader' }, principals: { partner: 'writer' } },
    });
    const reader = await world.agent('reader', 'elsewhere');
    const partner = await world.agent('partner-1', 'partner');
    const stranger = await world.agent('stranger', 'elsewhere');
    expect((await reader.call('session_manager.join', { session_id })).role).toBe('reader');
    expect((await partner.call('session_manager.join', { session_id })).role).toBe('writer');
    expect((await stranger.refused('session_manager.join', { session_id })).code).toBe(-32004);
    const update = { session_id, update: { a: 1 } };
    await partner.call('context_coordinator.update', update);
    await reader.call('context_coordinator.get', { session_id });
    await reader.call('memory_locker.acquire', { session_id, mode: 'shared' });
    for (const [method, params] of [
      ['context_coordinator.update', update],
      ['memory_locker.acquire', { session_id, mode: 'exclusive' }],
      ['shared_buffer.put', { session_id, content: 'x' }],
      ['session_manager.end', { session_id }],
      ['session_manager.grant', { session_id, member: 'reader', role: 'owner' }],
    ] as const) {
      expect(await reader.refused(method, params), method).toMatchObject({
        code: -32001,
        data: { reason: 'role_too_low', role: 'reader' },
      });
    }
    for (const method of ['session_manager.end', 'session_manager.suspend']) {
      expect((await partner.refused(method, { session_id })).code, method).toBe(-32001);
    }
    await owner.call('session_manager.grant', { session_id, member: 'reader', role: 'writer' });
    await reader.call('context_coordinator.update', update);
    await owner.call('session_manager.revoke', { session_id, principal: 'partner' });
    expect((await partner.refused('context_coordinator.update', update)).code).toBe(-32004);
    expect((await partner.refused('session_manager.join', { session_id })).code).toBe(-32004);
    await expect.poll(() => owner.pushed('session_manager.agent_left')).toHaveLength(1);
  });

  it('let members follow what their principal may, unless a role is their own', async () => {
    await using world = new World();
    const owner = await world.agent('owner');
    const access = { principals: { bob: 'writer' }, agents: { own: 'writer' } } as const;
    const { session_id } = await owner.call('session_manager.create', { mode: 'cas', access });
    const bob = await world.agent('bob-1', 'bob');
    const modest = await world.agent('modest', 'bob');
    const own = await world.agent('own', 'bob');
    const other = await world.agent('other');
    await bob.call('session_manager.join', { session_id });
    await modest.call('session_manager.join', { session_id, role: 'reader' });
    await own.call('session_manager.join', { session_id });
    await other.call('session_manager.join', { session_id });
    const update = { session_id, update: { a: 1 } };
    await bob.call('context_coordinator.update', update);
    const roles = async () => {
      const { members } = await owner.call('session_manager.get', { session_id });
      return Object.fromEntries(members.map(({ agent_id, role }) => [agent_id, role]));
    };
    const others = { owner: 'owner', other: 'writer', own: 'writer' };
    const grant = (role: 'reader' | 'owner') =>
      owner.call('session_manager.grant', { session_id, principal: 'bob', role });
    await grant('owner');
    expect(await roles()).toEqual({ ...others, 'bob-1': 'owner', modest: 'reader' });
    await grant('reader');
    expect(await roles()).toEqual({ ...others, 'bob-1': 'reader', modest: 'reader' });
    expect(await bob.refused('context_coordinator.update', update)).toMatchObject({
      code: -32001,
      data: { reason: 'role_too_low', role: 'reader' },
    });
    for (const wanted of [{}, { role: 'writer' }] as const) {
      const again = await bob.call('session_manager.join', { session_id, ...wanted });
      expect(again.role).toBe('reader');
    }
    await own.call('context_coordinator.update', update);
    await owner.call('session_manager.grant', { session_id, member: 'own', role: 'reader' });
    expect((await own.refused('context_coordinator.update', update)).code).toBe(-32001);
    await owner.call('session_manager.revoke', { session_id, principal: 'bob' });
    expect(Object.keys(await roles()).sort()).toEqual(['other', 'owner']);
  });

  it('lower whom they let in for being open, and never the owner that says so', async () => {
    await using world = new World();
    const [owner, guest] = [await world.agent('owner'), await world.agent('g', 'elsewhere')];
    const { session_id } = await owner.call('session_manager.create', { open: true });
    await guest.call('session_manager.join', { session_id });
    const grant = (principal: string, role: 'reader' | 'owner') =>
      owner.call('session_manager.grant', { session_id, principal, role });
    await grant('elsewhere', 'reader');
    expect((await guest.call('session_manager.join', { session_id })).role).toBe('reader');
    await grant('ci', 'owner');
    await grant('ci', 'reader');
    expect((await owner.call('session_manager.get', { session_id })).role).toBe('owner');
  });

  it('end up with the last of several grants at once', async () => {
    await using world = new World();
    const owner = await world.agent('owner');
    const principals = { bob: 'writer' } as const;
    const { session_id } = await owner.call('session_manager.create', { access: { principals } });
    const bob = await world.agent('bob-1', 'bob');
    await bob.call('session_manager.join', { session_id });
    const grants = (['reader', 'owner', 'writer', 'reader', 'owner'] as const).map((role) =>
      owner.call('session_manager.grant', { session_id, principal: 'bob', role }),
    );
    await Promise.all(grants);
    const { access, members } = await owner.call('session_manager.get', { session_id });
    const member = members.find(({ agent_id }) => agent_id === 'bob-1');
    expect(member?.role).toBe(access.principals.bob);
  });

  it('admit any agent that knows their id when they are open', async () => {
    await using world = new World();
    const [owner, stranger] = [await world.agent('owner'), await world.agent('s', 'elsewhere')];
    const { session_id } = await owner.call('session_manager.create', { open: true });
    expect((await stranger.call('session_manager.join', { session_id })).role).toBe('writer');
    expect((await stranger.call('session_manager.join', { session_id, role: 'owner' })).role).toBe(
      'writer',
    );
  });

  it('are not left without an owner: another agent of the principal may join as one', async () => {
    await using world = new World();
    const [owner, heir] = [await world.agent('owner'), await world.agent('heir')];
    const { session_id } = await owner.call('session_manager.create', {});
    await owner.call('agent_registry.unregister', {});
    await heir.call('session_manager.join', { session_id, role: 'owner' });
    await heir.call('session_manager.end', { session_id });
  });

  it('stand still while suspended and go on when resumed', async () => {
    await using world = new World({ heartbeatIntervalMs: 30 * DAY_MS });
    const [owner, helper] = [await world.agent('owner'), await world.agent('helper')];
    const { session_id } = await owner.call('session_manager.create', { ttl_ms: 60_000 });
    await helper.call('session_manager.join', { session_id });
    const held = await helper.call('memory_locker.acquire', { session_id, ttl_ms: 3_600_000 });
    const lock_token = 'lock_token' in held ? held.lock_token : 0;
    await owner.call('session_manager.suspend', { session_id });
    await expect.poll(() => helper.pushed('memory_locker.lost')).toHaveLength(1);
    const update = { session_id, update: { a: 1 }, lock_token };
    for (const [method, params] of [
      ['context_coordinator.update', update],
      ['context_coordinator.update', { ...update, with_lock: true }],
      ['memory_locker.acquire', { session_id }],
      ['shared_buffer.put', { session_id, content: 'x' }],
    ] as const) {
      expect(await helper.refused(method, params)).toMatchObject({
        code: -32013,
        data: {
          reason: 'session_suspended',
          current_version: 0,
          current: { state: 'suspended' },
        },
      });
    }
    await world.advance(10 * DAY_MS);
    await helper.call('context_coordinator.get', { session_id });
    await owner.call('session_manager.resume', { session_id });
    expect((await helper.refused('context_coordinator.update', update)).code).toBe(-32015);
    await helper.call('context_coordinator.update', { ...update, with_lock: true });
    await expect
      .poll(() => helper.pushed('session_manager.state_changed').map(({ state }) => state))
      .toEqual(['suspended', 'active']);
  });

  it('keep checkpoints, and go on from one', async () => {
    await using world = new World();
    const client = await world.agent('a');
    const { session_id } = await client.call('session_manager.create', { mode: 'cas' });
    await client.call('context_coordinator.update', { session_id, update: { a: 1, b: [1] } });
    const kept = await client.call('session_manager.checkpoint', { session_id, name: 'draft' });
    await client.call('context_coordinator.update', {
      session_id,
      op: 'replace',
      update: { a: 2, c: 3 },
    });
    expect((await client.call('session_manager.checkpoints', { session_id })).checkpoints).toEqual([
      kept,
    ]);
    const { checkpoint_id } = kept;
    const early = await client.refused('session_manager.resume', { session_id, checkpoint_id });
    expect(early).toMatchObject({
      code: -32013,
      data: { current_version: expect.any(Number), current: { state: 'active' } },
    });
    await client.call('session_manager.suspend', { session_id });
    await client.call('session_manager.resume', { session_id, checkpoint_id });
    const { context } = await client.call('context_coordinator.get', { session_id });
    expect(context).toEqual({ a: 1, b: [1] });
    const unknown = { session_id, checkpoint_id: 'none' };
    await client.call('session_manager.suspend', { session_id });
    expect(await client.refused('session_manager.resume', unknown)).toMatchObject({
      code: -32004,
      data: { fix: expect.stringContaining('session_manager.checkpoints') },
    });
  });

  it('forget a checkpoint when an owner says so, and have room for another', async () => {
    await using world = new World({ limits: { checkpoints_per_session: 1 } });
    const [owner, helper] = [await world.agent('owner'), await world.agent('helper')];
    const { session_id } = await owner.call('session_manager.create', { mode: 'cas' });
    await helper.call('session_manager.join', { session_id });
    const { checkpoint_id } = await helper.call('session_manager.checkpoint', { session_id });
    const full = await helper.refused('session_manager.checkpoint', { session_id });
    expect(full).toMatchObject({ code: -32016, data: { limit: 'checkpoints_per_session' } });
    expect(full.data.fix).toContain('session_manager.remove_checkpoint');
    const named = { session_id, checkpoint_id };
    const remove = 'session_manager.remove_checkpoint';
    expect((await helper.refused(remove, named)).code).toBe(-32001);
    expect(await owner.call(remove, named)).toEqual({ removed: true });
    expect(await owner.call(remove, named)).toEqual({ removed: false });
    expect((await owner.refused('session_manager.fork', named)).code).toBe(-32004);
    const { entries } = await world.store.read(partitionOf.history(session_id));
    expect([...entries.keys()]).not.toContain(keyOf.checkpoint(checkpoint_id));
    const next = await helper.call('session_manager.checkpoint', { session_id });
    const { checkpoints } = await owner.call('session_manager.checkpoints', { session_id });
    expect(checkpoints).toEqual([next]);
  });

  it('do not fork from two contexts at once', async () => {
    await using world = new World();
    const client = await world.agent('a');
    const { session_id } = await client.call('session_manager.create', {});
    const { checkpoint_id } = await client.call('session_manager.checkpoint', { session_id });
    const both = { session_id, checkpoint_id, at_version: 0 };
    const refusal = await client.refused('session_manager.fork', both);
    expect(refusal).toMatchObject({ code: -32602, data: { reason: 'bad_params' } });
    expect(refusal.data.fix).toContain('at_version');
    expect((await client.call('session_manager.list', {})).sessions).toHaveLength(1);
  });

  it('fork at a version, at a checkpoint, or as they are', async () => {
    await using world = new World();
    const client = await world.agent('a');
    const { session_id } = await client.call('session_manager.create', { mode: 'cas' });
    const { version } = await client.call('context_coordinator.update', {
      session_id,
      update: { a: 1 },
    });
    const { checkpoint_id } = await client.call('session_manager.checkpoint', { session_id });
    await client.call('context_coordinator.update', { session_id, update: { a: 2 } });
    const forks = [
      await client.call('session_manager.fork', { session_id, at_version: version }),
      await client.call('session_manager.fork', { session_id, checkpoint_id }),
      await client.call('session_manager.fork', { session_id, new_session_id: 'mine' }),
    ];
    const contexts = await Promise.all(
      forks.map((fork) => client.call('context_coordinator.get', { session_id: fork.session_id })),
    );
    expect(contexts.map(({ context }) => context)).toEqual([{ a: 1 }, { a: 1 }, { a: 2 }]);
    expect(forks[0]).toMatchObject({ mode: 'cas', parent: { session_id, version } });
    expect(forks[2]?.session_id).toBe('mine');
    await client.call('context_coordinator.update', { session_id: 'mine', update: { a: 9 } });
    const { context } = await client.call('context_coordinator.get', { session_id });
    expect(context).toEqual({ a: 2 });
  });

  it('keep within their quotas', async () => {
    await using world = new World({
      limits: { sessions_per_agent: 2, members_per_session: 2, checkpoints_per_session: 1 },
    });
    const [a, b, c] = [await world.agent('a'), await world.agent('b'), await world.agent('c')];
    const { session_id } = await a.call('session_manager.create', {});
    await a.call('session_manager.create', {});
    const quota = (limit: string) => ({ code: -32016, data: { reason: 'quota', limit } });
    expect(await a.refused('session_manager.create', {})).toMatchObject(
      quota('sessions_per_agent'),
    );
    await b.call('session_manager.join', { session_id });
    await b.call('session_manager.join', { session_id });
    expect(await c.refused('session_manager.join', { session_id })).toMatchObject(
      quota('members_per_session'),
    );
    await a.call('session_manager.checkpoint', { session_id });
    expect(await a.refused('session_manager.checkpoint', { session_id })).toMatchObject(
      quota('checkpoints_per_session'),
    );
    const metadata = { text: 'x'.repeat(100_000) };
    expect(await b.refused('session_manager.create', { metadata })).toMatchObject(
      quota('metadata_bytes'),
    );
  });

  it('leave nothing behind that were refused', async () => {
    await using world = new World({ limits: { sessions_per_agent: 1, members_per_session: 1 } });
    const [a, b] = [await world.agent('a'), await world.agent('b', 'elsewhere')];
    const { session_id } = await a.call('session_manager.create', { open: true });
    const held = async () => {
      const names = [partitionOf.agent('b'), partitionOf.principal('elsewhere')];
      const read = [partitionOf.budget('ci'), ...names].map((name) => world.store.read(name));
      return (await Promise.all(read)).map(({ entries }) => [...entries.keys()]);
    };
    const before = await held();
    await a.refused('session_manager.create', {});
    await b.refused('session_manager.join', { session_id });
    expect(await held()).toEqual(before);
  });

  it('are not listed for each one that an agent is refused', async () => {
    const limit = 100;
    await using world = new World({ limits: { sessions_per_agent: limit } });
    const client = await world.agent('a');
    const sessions = [];
    for (let n = 0; n < limit; n += 1) {
      sessions.push(await client.call('session_manager.create', {}));
    }
    const { read } = world.store;
    let lists = 0;
    vi.spyOn(world.store, 'read').mockImplementation((name, keys) => {
      const isList = name === partitionOf.agent('a') && keys === undefined;
      if (isList) lists += 1;
      if (isList) world.clock.advance(1);
      return read(name, keys);
    });
    for (let n = 0; n < limit; n += 1) await client.refused('session_manager.create', {});
    expect(lists).toBe(1);
    world.clock.advance(1_000);
    await client.call('session_manager.end', { session_id: sessions[0]?.session_id ?? '' });
    await client.call('session_manager.create', {});
  });

  it('cannot be created under an id that is in use', async () => {
    await using world = new World();
    const [a, b] = [await world.agent('a'), await world.agent('b')];
    await a.call('session_manager.create', { session_id: 'mine' });
    for (const client of [a, b]) {
      expect(await client.refused('session_manager.create', { session_id: 'mine' })).toMatchObject({
        code: -32013,
        data: { reason: 'session_exists' },
      });
    }
    expect((await b.call('session_manager.list', {})).sessions).toEqual([]);
    expect((await a.call('session_manager.list', {})).sessions).toHaveLength(1);
  });

  it('does not say that another principal has a session, also once that is over', async () => {
    await using world = new World();
    const [owner, stranger] = [await world.agent('a'), await world.agent('b', 'elsewhere')];
    await owner.call('session_manager.create', { session_id: 'mine' });
    const create = () => stranger.refused('session_manager.create', { session_id: 'mine' });
    const refusal = await create();
    expect(refusal).toMatchObject({ code: -32013, data: { reason: 'id_unavailable' } });
    expect(JSON.stringify(refusal)).not.toMatch(/exist|in use|taken|join/);
    await owner.call('session_manager.end', { session_id: 'mine' });
    expect(await create()).toEqual(refusal);
    const open = { session_id: 'ours', open: true };
    await owner.call('session_manager.create', open);
    expect(await stranger.refused('session_manager.create', open)).toMatchObject({
      data: { reason: 'session_exists' },
    });
    expect((await stranger.call('session_manager.list', {})).sessions).toEqual([]);
  });
});
