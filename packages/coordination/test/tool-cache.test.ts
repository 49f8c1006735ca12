import { describe, expect, it } from 'vitest';
import { markKey, principalCacheScope } from '../src/cache/cache-index.ts';
import { partitionOf } from '../src/partitions.ts';
import { countCalls } from './support/counted-calls.ts';
import { type Client, World } from './support/world.ts';

const tool = 'search';
const params = { q: 'leases', limit: 3 };

const get = (client: Client, more = {}) => client.call('tool_cache.get', { tool, params, ...more });
const put = (client: Client, result: string, more = {}) =>
  client.call('tool_cache.put', { tool, params, result, ...more });

describe('tool cache', () => {
  it('[C8] puts, gets and invalidates results, and counts', async () => {
    await using world = new World();
    const client = await world.agent('a');
    expect(await get(client)).toMatchObject({ hit: false });
    expect(await put(client, 'found')).toMatchObject({ stored: true });
    expect(await get(client)).toMatchObject({ hit: true, result: 'found', agent_id: 'a' });
    expect(await client.call('tool_cache.invalidate', { tool })).toEqual({ invalidated: 1 });
    expect(await get(client)).toMatchObject({ hit: false });
    expect(await client.call('tool_cache.stats', {})).toMatchObject({
      entries: 0,
      hits: 1,
      misses: 2,
      hit_rate: 1 / 3,
      puts: 1,
      invalidated: 1,
    });
    await client.call('tool_cache.stats', { reset: true });
    expect(await client.call('tool_cache.stats', {})).toMatchObject({ hits: 0, misses: 0 });
  });

  it('finds a result whatever the order of its parameters, and only for equal ones', async () => {
    await using world = new World();
    const client = await world.agent('a');
    await put(client, 'found');
    const reordered = { limit: 3, q: 'leases' };
    expect((await get(client, { params: reordered })).hit).toBe(true);
    for (const more of [
      { params: { ...params, limit: 4 } },
      { params: { ...params, limit: '3' } },
      { params: { ...params, extra: null } },
      { tool: 'other' },
      { tool_version: '2' },
      { scope: 'agent' },
    ]) {
      expect((await get(client, more)).hit, JSON.stringify(more)).toBe(false);
    }
  });

  it('shares results within their scope only', async () => {
    await using world = new World();
    const [a, b, c] = [
      await world.agent('a'),
      await world.agent('b'),
      await world.agent('c', 'elsewhere'),
    ];
    const { session_id } = await a.call('session_manager.create', { open: true });
    await c.call('session_manager.join', { session_id });
    await put(a, 'of the principal');
    await put(a, 'of the agent', { scope: 'agent' });
    const session = { scope: 'session', session_id };
    await put(a, 'of the session', session);
    expect(await get(b)).toMatchObject({ result: 'of the principal' });
    expect((await get(b, { scope: 'agent' })).hit).toBe(false);
    expect((await get(c)).hit).toBe(false);
    expect(await get(c, session)).toMatchObject({ result: 'of the session' });
    expect((await b.refused('tool_cache.get', { tool, params, ...session })).code).toBe(-32004);
    expect((await a.refused('tool_cache.get', { tool, scope: 'session' })).code).toBe(-32602);
  });

  it('forgets a result when its time is over', async () => {
    await using world = new World();
    const client = await world.agent('a');
    await put(client, 'found', { ttl_ms: 1_000 });
    world.clock.advance(999);
    expect((await get(client)).hit).toBe(true);
    world.clock.advance(1);
    expect((await get(client)).hit).toBe(false);
    expect((await client.call('tool_cache.stats', {})).entries).toBe(0);
  });

  it('invalidates by parameters, tool, tag and dependency, and nothing else', async () => {
    await using world = new World();
    const client = await world.agent('a');
    const fill = async () => {
      for (const entry of [
        { tool: 'read', params: { file: 'a' }, result: 1, dependencies: ['file:a'] },
        { tool: 'read', params: { file: 'b' }, result: 2, dependencies: ['file:b'] },
        { tool: 'sum', params: {}, result: 3, dependencies: ['file:a', 'file:b'], tags: ['x'] },
      ])
        await client.call('tool_cache.put', entry);
    };
    const left = async () => {
      const hits = await Promise.all([
        client.call('tool_cache.get', { tool: 'read', params: { file: 'a' } }),
        client.call('tool_cache.get', { tool: 'read', params: { file: 'b' } }),
        client.call('tool_cache.get', { tool: 'sum' }),
      ]);
      return hits.map(({ hit }) => hit);
    };
    for (const [what, count, expected] of [
      [{ dependencies: ['file:a'] }, 2, [false, true, false]],
      [{ tool: 'read' }, 2, [false, false, true]],
      [{ tool: 'read', params: { file: 'b' } }, 1, [true, false, true]],
      [{ tags: ['x', 'unknown'] }, 1, [true, true, false]],
    ] as const) {
      await fill();
      const { invalidated } = await client.call('tool_cache.invalidate', {
        ...what,
        tags: [...('tags' in what ? what.tags : [])],
        dependencies: [...('dependencies' in what ? what.dependencies : [])],
      });
      expect([invalidated, await left()]).toEqual([count, expected]);
    }
    expect((await client.refused('tool_cache.invalidate', {})).code).toBe(-32602);
  });

  it('invalidates also what the index does not know of', async () => {
    await using world = new World();
    const client = await world.agent('a');
    await put(client, 'found', { tags: ['x'] });
    await world.store.drop(partitionOf.cacheIndex(principalCacheScope('ci')));
    await client.call('tool_cache.invalidate', { tags: ['x'] });
    expect((await get(client)).hit).toBe(false);
  });

  it('does not keep a result that was invalidated while it was computed', async () => {
    await using world = new World();
    const client = await world.agent('a');
    const miss = await get(client);
    await client.call('tool_cache.invalidate', { dependencies: ['file:a'] });
    const late = { dependencies: ['file:a'], since: miss.since };
    expect(await put(client, 'outdated', late)).toMatchObject({ stored: false });
    expect((await get(client)).hit).toBe(false);
    const again = await get(client);
    expect(await put(client, 'fresh', { ...late, since: again.since })).toMatchObject({
      stored: true,
    });
  });

  it('knows from the claim when a computation began', async () => {
    await using world = new World();
    const [a, b] = [await world.agent('a'), await world.agent('b')];
    const { claim } = await get(a, { claim: true });
    await b.call('tool_cache.invalidate', { tool });
    expect(await put(a, 'outdated', { claim })).toMatchObject({ stored: false });
    expect((await get(b)).hit).toBe(false);
    const again = await get(b, { claim: true });
    expect(await put(b, 'fresh', { claim: again.claim })).toMatchObject({ stored: true });
    expect(await get(a)).toMatchObject({ hit: true, result: 'fresh' });
  });

  it('knows from a claim that was waited for when its computation began', async () => {
    await using world = new World();
    const [a, b] = [await world.agent('a'), await world.agent('b')];
    const { claim = 0 } = await get(a, { claim: true });
    const waiting = get(b, { wait_ms: 60_000 });
    const partition = partitionOf.cache(principalCacheScope('ci'));
    await expect.poll(() => world.store.waiting(partition)).toHaveLength(1);
    await a.call('tool_cache.invalidate', { tool });
    await a.call('tool_cache.abandon', { tool, params, claim });
    const { claim: next } = await waiting;
    expect(await put(b, 'begun after it', { claim: next })).toMatchObject({ stored: true });
    await a.call('tool_cache.invalidate', { tool });
    const last = await get(b, { claim: true });
    await a.call('tool_cache.invalidate', { tags: ['x'] });
    const late = { claim: last.claim, tags: ['x'] };
    expect(await put(b, 'begun before it', late)).toMatchObject({ stored: false });
  });

  it('keeps the begin of a claim that is answered again', async () => {
    await using world = new World();
    const a = await world.agent('a');
    const once = { claim: true, idempotency_key: 'k' };
    await get(a, once);
    await a.call('tool_cache.invalidate', { tool });
    const { claim } = await get(a, once);
    expect(await put(a, 'outdated', { claim })).toMatchObject({ stored: false });
  });

  it('passes the claim on when its result is void', async () => {
    await using world = new World();
    const [a, b] = [await world.agent('a'), await world.agent('b')];
    const { claim = 0, since } = await get(a, { claim: true });
    const waiting = get(b, { wait_ms: 60_000 });
    const partition = partitionOf.cache(principalCacheScope('ci'));
    await expect.poll(() => world.store.waiting(partition)).toHaveLength(1);
    await a.call('tool_cache.invalidate', { tool });
    expect(await put(a, 'outdated', { claim, since })).toMatchObject({ stored: false });
    const leases = await world.store.leases(partition);
    expect(leases.map(({ holder }) => holder)).toEqual(['b']);
    expect((await waiting).claim).toBeGreaterThan(claim);
  });

  it('lets one compute while the others wait for its result', async () => {
    await using world = new World();
    const clients: Client[] = [];
    for (const id of ['a', 'b', 'c', 'd']) clients.push(await world.agent(id));
    let computed = 0;
    const results = await Promise.all(
      clients.map(async (client) => {
        const answer = await get(client, { claim: true, wait_ms: 60_000 });
        if (answer.hit) return answer.result;
        computed += 1;
        await put(client, 'computed once', { claim: answer.claim, since: answer.since });
        return 'computed once';
      }),
    );
    expect(results).toEqual(Array(4).fill('computed once'));
    expect(computed).toBe(1);
    const partition = partitionOf.cache(principalCacheScope('ci'));
    expect(await world.store.leases(partition)).toEqual([]);
    expect(await world.store.waiting(partition)).toEqual([]);
    expect((await get(clients[0] as Client, { claim: true })).hit).toBe(true);
  });

  it('uses a result that came while the claim was taken, and gives the claim back', async () => {
    await using world = new World();
    const [a, b] = [await world.agent('a'), await world.agent('b')];
    const acquire = world.store.acquire.bind(world.store);
    world.store.acquire = async (...args) => {
      world.store.acquire = acquire;
      await put(b, 'just now');
      return await acquire(...args);
    };
    expect(await get(a, { claim: true })).toMatchObject({ hit: true, result: 'just now' });
    const partition = partitionOf.cache(principalCacheScope('ci'));
    expect(await world.store.leases(partition)).toEqual([]);
  });

  it('passes the claim on when the computing agent gives up', async () => {
    await using world = new World();
    const [a, b] = [await world.agent('a'), await world.agent('b')];
    const { claim = 0 } = await get(a, { claim: true });
    expect(await get(b, { claim: true })).toMatchObject({ hit: false, computing: true });
    const waiting = get(b, { wait_ms: 60_000 });
    await a.call('tool_cache.abandon', { tool, params, claim });
    expect((await waiting).claim).toBeGreaterThan(claim);
  });

  it('passes the claim on when the computing agent dies', async () => {
    await using world = new World();
    const [a, b] = [await world.agent('a'), await world.agent('b')];
    const { claim = 0 } = await get(a, { claim: true, claim_ttl_ms: 1_000 });
    let next: number | undefined;
    const waiting = get(b, { wait_ms: 3_600_000 / 6 }).then((answer) => {
      next = answer.claim;
    });
    await expect
      .poll(async () => {
        await world.advance(1_100);
        return next;
      })
      .toBeGreaterThan(claim);
    await waiting;
  });

  it('refuses a result under a claim that is over or not the caller’s', async () => {
    await using world = new World();
    const [a, b] = [await world.agent('a'), await world.agent('b')];
    const { claim } = await get(a, { claim: true, claim_ttl_ms: 1_000 });
    const stolen = { tool, params, result: 1, claim };
    const refusal = await b.refused('tool_cache.put', stolen);
    expect(refusal).toMatchObject({ code: -32015, data: { reason: 'stale_token', claim, tool } });
    expect(refusal.data.fix).toContain('tool_cache.get');
    world.clock.advance(2_000);
    expect((await a.refused('tool_cache.put', stolen)).code).toBe(-32015);
    expect((await get(a)).hit).toBe(false);
  });

  it('answers a repeated claim with the same claim', async () => {
    await using world = new World();
    const a = await world.agent('a');
    const once = { claim: true, idempotency_key: 'k' };
    const { claim } = await get(a, once);
    expect((await get(a, once)).claim).toBe(claim);
  });

  it('makes the name of an agent its principal’s, who uses it first', async () => {
    await using world = new World();
    const [here, there] = [world.connect('here'), world.connect('there')];
    const name = { agent_id: 'same', tool, params, scope: 'agent' as const };
    await here.call('tool_cache.put', { ...name, result: 'secret' });
    const taken = { code: -32001, data: { reason: 'agent_id_taken' } };
    expect(await there.refused('tool_cache.get', name)).toMatchObject(taken);
    const registration = { agent_id: 'same', capabilities: [] };
    expect(await there.refused('agent_registry.register', registration)).toMatchObject(taken);
    expect((await here.call('tool_cache.get', name)).hit).toBe(true);
  });

  it('makes no name the reader’s, and keeps nothing of what was looked for in vain', async () => {
    await using world = new World();
    const [here, there] = [world.connect('here'), world.connect('there')];
    const calls = countCalls(world.store);
    for (const scope of ['agent', 'principal'] as const) {
      const name = { agent_id: 'unused', scope };
      await here.call('tool_cache.get', { ...name, tool, params });
      await here.call('tool_cache.stats', name);
    }
    for (const method of ['session_manager.list', 'agent_registry.list'] as const) {
      await here.call(method, { agent_id: 'unused' });
    }
    expect(calls.commits).toBeLessThanOrEqual(1);
    await there.call('agent_registry.register', { agent_id: 'unused', capabilities: [] });
  });

  it.each(['agent', 'principal'] as const)(
    'refuses an earlier registration, scope %s',
    async (scope) => {
      await using world = new World();
      const old = await world.agent('a');
      const named = { tool, params, scope };
      await old.call('tool_cache.put', { ...named, result: 1 });
      await world.agent('a');
      const stale = { code: -32015, data: { reason: 'stale_epoch' } };
      expect(await old.refused('tool_cache.put', { ...named, result: 2 })).toMatchObject(stale);
      expect(await old.refused('tool_cache.get', named)).toMatchObject(stale);
      expect(await old.refused('tool_cache.invalidate', { tool, scope })).toMatchObject(stale);
      expect(await old.refused('session_manager.list', {})).toMatchObject(stale);
    },
  );

  it('stops waiting when the time is over', async () => {
    await using world = new World();
    const [a, b] = [await world.agent('a'), await world.agent('b')];
    await get(a, { claim: true });
    expect(await get(b, { wait_ms: 30 })).toMatchObject({ hit: false, computing: true });
  });

  it('forgets what was not used for longest when there is too much', async () => {
    await using world = new World({ limits: { cache_entries: 3 } });
    const client = await world.agent('a');
    const name = (n: number) => ({ tool, params: { n } });
    for (const n of [1, 2, 3]) {
      await client.call('tool_cache.put', { ...name(n), result: n });
      world.clock.advance(10);
    }
    await client.call('tool_cache.get', name(1));
    world.clock.advance(10);
    await client.call('tool_cache.put', { ...name(4), result: 4 });
    const hits = await Promise.all([1, 2, 3, 4].map((n) => client.call('tool_cache.get', name(n))));
    expect(hits.map(({ hit }) => hit)).toEqual([true, false, true, true]);
    expect(await client.call('tool_cache.stats', {})).toMatchObject({ entries: 3, evicted: 1 });
  });

  it('keeps a bounded number of invalidations, and none is forgotten', async () => {
    await using world = new World({ limits: { cache_entries: 5 } });
    const client = await world.agent('a');
    const partition = partitionOf.cache(principalCacheScope('ci'));
    const marks = async () => {
      const { entries } = await world.store.read(partition);
      return [...entries.keys()].filter((key) => key.startsWith(markKey('')));
    };
    const invalidate = (tag: string) => client.call('tool_cache.invalidate', { tags: [tag, tag] });
    await put(client, 'found', { tags: ['y'] });
    const { since } = await get(client, { tool: 'other' });
    for (let n = 0; n < 5; n += 1) expect(await invalidate(`x${n}`)).toEqual({ invalidated: 0 });
    expect((await get(client)).hit).toBe(true);
    expect(await marks()).toHaveLength(5);
    expect(await invalidate('x5')).toEqual({ invalidated: 1 });
    expect(await marks()).toHaveLength(1);
    expect((await get(client)).hit).toBe(false);
    const late = { tool: 'other', tags: ['x0'], since };
    expect(await put(client, 'outdated', late)).toMatchObject({ stored: false });
    expect(await put(client, 'fresh', { tags: ['x0'] })).toMatchObject({ stored: true });
    expect((await get(client)).hit).toBe(true);
    for (let n = 0; n < 20; n += 1) await invalidate(`z${n}`);
    expect((await marks()).length).toBeLessThanOrEqual(6);
  });

  it('refuses a result that is too large', async () => {
    await using world = new World({ limits: { value_bytes: 1_000 } });
    const client = await world.agent('a');
    const large = { tool, params, result: 'x'.repeat(2_000) };
    expect((await client.refused('tool_cache.put', large)).code).toBe(-32016);
  });
});
