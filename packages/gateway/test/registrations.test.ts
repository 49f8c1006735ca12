import { FabricError, type Manifest, MemoryRegistry, silentLog } from '@starloom/core';
import { ManualClock, MemoryAdapter } from '@starloom/core/testing';
import { createPskVerifier } from '@starloom/identity';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { Pinning } from '../src/pinning/pinning.ts';
import { approveHeld, readPins } from '../src/pinning/pins-file.ts';
import { call, connect, KEY, openTestGateway, type TestGatewayOptions } from './test-gateway.ts';

const AGENT_KEY = 'agent-key-0123456789abcdef';
const GUEST_KEY = 'guest-key-0123456789abcdef';
const RIVAL_KEY = 'rival-key-0123456789abcdef';

const psk = createPskVerifier([
  { key_id: 'test', key: KEY, principal: 'tester', tier: 'org', scopes: ['*'] },
  {
    key_id: 'agent',
    key: AGENT_KEY,
    principal: 'worker',
    tier: 'org',
    scopes: ['register:w*', 'agent:*'],
  },
  { key_id: 'rival', key: RIVAL_KEY, principal: 'rival', tier: 'org', scopes: ['register:*'] },
  { key_id: 'guest', key: GUEST_KEY, principal: 'guest', tier: 'public', scopes: ['register:w*'] },
]);

/** Every instance answers with its node, unless it is in `broken`. */
async function open(options: TestGatewayOptions & { clock?: ManualClock } = {}) {
  const broken = new Map<string, FabricError>();
  const served: string[] = [];
  const registry = new MemoryRegistry([], options.clock);
  const world = await openTestGateway(
    {},
    {
      psk,
      registry,
      openAdapter: async (manifest) =>
        new MemoryAdapter(manifest, async function* () {
          served.push(manifest.node_id);
          const error = broken.get(manifest.node_id);
          if (error) throw error;
          yield { type: 'final', data: { answer: manifest.node_id } };
        }),
      ...options,
    },
  );
  const as = async (key: string) => {
    const client = await connect(world.url, 'auto', { authorization: `Bearer ${key}` });
    const use = async (tool: string, args: Record<string, unknown>) =>
      (await call(client, tool, args)).payload;
    return { client, use };
  };
  return { ...world, registry, broken, served, as };
}

const manifest = (change: Partial<Manifest> | Record<string, unknown> = {}) => ({
  agent_id: 'worker',
  node_id: 'a',
  endpoint: { transport: 'http', uri: 'http://127.0.0.1:9/mcp', protocol: 'memory' },
  capabilities: [{ name: 'work', description: 'Works' }],
  trust_tier: 'org',
  ...change,
});
const offline = (sent: boolean) => new FabricError('AGENT_OFFLINE', 'gone', { details: { sent } });

describe('an agent that registers itself', () => {
  it('[G16] is listed once with its instances, called by its name, and gone when it leaves', async () => {
    await using world = await open();
    const { use, client } = await world.as(AGENT_KEY);
    const one = await use('fabric.agent.register', { manifest: manifest() });
    const two = await use('fabric.agent.register', {
      manifest: manifest({ node_id: 'b' }),
      lease_ms: 60_000,
    });
    expect(one).toMatchObject({ ok: true, agent_id: 'worker', node_id: 'a', lease_ms: 30_000 });
    expect(two).toMatchObject({
      lease_ms: 60_000,
      epoch: expect.any(Number),
      revision: expect.any(Number),
    });
    const { tools } = await client.listTools();
    expect(
      tools.filter(({ name }) => name.includes('work') && name.startsWith('worker')),
    ).toHaveLength(1);
    const answer = await use('fabric.call', { agent_id: 'worker', capability: 'work', task: 'x' });
    expect(answer).toMatchObject({
      ok: true,
      fallback: false,
      attempts: [{ agent_id: 'worker', ok: true }],
    });
    const key = { agent_id: 'worker', node_id: 'b', epoch: two.epoch };
    expect(await use('fabric.agent.heartbeat', key)).toMatchObject({
      ok: true,
      next_before: expect.any(Number),
    });
    expect(await use('fabric.agent.drain', key)).toMatchObject({ ok: true });
    const health = await use('fabric.health', {});
    expect(health.agents.list[0].instances).toMatchObject([
      { node_id: 'a', state: 'active' },
      { node_id: 'b', state: 'draining' },
    ]);
    for (let n = 0; n < 5; n += 1) {
      const { result } = await use('fabric.call', {
        agent_id: 'worker',
        capability: 'work',
        task: 'x',
      });
      expect(result.answer).toBe('a');
    }
    expect(await use('fabric.agent.leave', key)).toMatchObject({ ok: true });
    expect(await use('fabric.agent.heartbeat', key)).toMatchObject({
      ok: false,
      error: { code: 'BAD_INPUT', details: { reason: 'stale_epoch' } },
    });
    await use('fabric.agent.leave', { ...key, node_id: 'a', epoch: one.epoch });
    expect(await use('fabric.agent.list', {})).toMatchObject({ count: 0 });
  });

  it('[G36] is offline when its lease runs out, and keeps its definition', async () => {
    const clock = new ManualClock();
    await using world = await open({ clock });
    const { use } = await world.as(AGENT_KEY);
    await use('fabric.agent.register', { manifest: manifest(), lease_ms: 5_000 });
    clock.advance(5_001);
    world.registry.registrar.expire();
    const { agents } = await use('fabric.agent.list', {});
    expect(agents).toMatchObject([
      { agent_id: 'worker', health: { status: 'offline', reason: 'lease_expired' } },
    ]);
    expect(agents[0].capabilities).toHaveLength(1);
    const { entries } = await use('fabric.agent.history', { agent_id: 'worker' });
    expect(entries[0]).toMatchObject({ node_id: 'a', status: 'offline', reason: 'lease_expired' });
  });

  it('[G36] is tried on its next instance before any fallback, if the attempt was not sent', async () => {
    await using world = await open();
    const { use } = await world.as(KEY);
    const capabilities = [{ name: 'work', idempotent: false }];
    const spare = manifest({ agent_id: 'spare', node_id: 'spare', capabilities });
    await use('fabric.agent.register', { manifest: spare });
    for (const node_id of ['a', 'b']) {
      const own = manifest({ node_id, capabilities, fallbacks: ['spare'] });
      await use('fabric.agent.register', { manifest: own });
    }
    const work = { agent_id: 'worker', capability: 'work', task: 'x' };
    world.broken.set('a', offline(false)).set('b', offline(false));
    const fallen = await use('fabric.call', work);
    expect(fallen).toMatchObject({ ok: true, agent_id: 'spare', fallback: true });
    expect(fallen.attempts.map((each: { node_id: string }) => each.node_id).sort()).toEqual([
      'a',
      'b',
      'spare',
    ]);
    expect(fallen.attempts.at(-1).node_id).toBe('spare');
    world.broken.delete('b');
    await world.registry.updateHealth('worker', { status: 'online', checked_at: null }, 'a');
    await world.registry.updateHealth('worker', { status: 'online', checked_at: null }, 'b');
    expect(await use('fabric.call', work)).toMatchObject({
      result: { answer: 'b' },
      fallback: false,
    });
    // What may have been done is not done again.
    world.served.length = 0;
    world.broken.set('a', offline(true)).set('b', offline(true));
    await world.registry.updateHealth('worker', { status: 'online', checked_at: null }, 'a');
    expect(await use('fabric.call', work)).toMatchObject({
      ok: false,
      error: { code: 'AGENT_OFFLINE' },
    });
    expect(world.served).toHaveLength(1);
  });

  it('[G36] has its places explained by the preview of a route', async () => {
    await using world = await open({ config: { registry: { kind: 'yaml', node_id: 'b' } } });
    const { use } = await world.as(KEY);
    for (const node_id of ['a', 'b', 'c'])
      await use('fabric.agent.register', { manifest: manifest({ node_id }) });
    const preview = await use('fabric.route.preview', { agent_id: 'worker', capability: 'work' });
    expect(preview.primary).toMatchObject({ node_id: 'b', kind: 'primary' });
    expect(preview.primary.reason).toMatch(/asked for, node b \(own node\), 0 in flight/);
    expect(preview.fallbacks).toMatchObject([{ kind: 'instance' }, { kind: 'instance' }]);
  });

  it('[G16] is held on nodes with an older definition, and fabric.health names them', async () => {
    await using world = await open();
    const { use } = await world.as(KEY);
    await use('fabric.agent.register', { manifest: manifest({ tags: ['one'] }) });
    await use('fabric.agent.register', { manifest: manifest({ node_id: 'b', tags: ['two'] }) });
    const health = await use('fabric.health', {});
    expect(health.status).toBe('degraded');
    expect(health.registry.held).toMatchObject([
      { agent_id: 'worker', node_id: 'a', reason: 'definition' },
    ]);
    const { result } = await use('fabric.call', {
      agent_id: 'worker',
      capability: 'work',
      task: 'x',
    });
    expect(result.answer).toBe('b');
  });

  it.each([
    ['a name outside of its scope', AGENT_KEY, { agent_id: 'other' }, 'POLICY_DENIED', 'scope'],
    ['a name of another principal', RIVAL_KEY, {}, 'BAD_INPUT', 'taken'],
    [
      'a name that looks like another',
      AGENT_KEY,
      { agent_id: 'w0rker' },
      'BAD_INPUT',
      'look_alike',
    ],
    ['a tier above that of its key', GUEST_KEY, { agent_id: 'w-guest' }, 'BAD_INPUT', 'tier'],
    [
      'the rights of its callers',
      AGENT_KEY,
      { auth: { may_call: ['agent:*'] } },
      'BAD_INPUT',
      'rights',
    ],
    [
      'the principal of another',
      AGENT_KEY,
      { auth: { principal: 'tester' } },
      'BAD_INPUT',
      'rights',
    ],
    ['a command', KEY, { endpoint: { transport: 'stdio', command: 'sh' } }, 'BAD_INPUT', 'command'],
    [
      'a secret',
      KEY,
      { endpoint: { transport: 'http', uri: 'http://127.0.0.1:9', headers: { a: 'env:HOME' } } },
      'BAD_INPUT',
      'secret',
    ],
    [
      'an address of a metadata service',
      KEY,
      { endpoint: { transport: 'http', uri: 'http://169.254.169.254/' } },
      'BAD_INPUT',
      'url',
    ],
    ['a manifest that is none', KEY, { capabilities: 'all' }, 'BAD_INPUT', 'manifest'],
  ])('gets %s refused, and nothing changes', async (_, key, change, code, reason) => {
    await using world = await open();
    await (await world.as(AGENT_KEY)).use('fabric.agent.register', { manifest: manifest() });
    const before = world.registry.get('worker')?.instances.map(({ epoch }) => epoch);
    const { use } = await world.as(key);
    const refused = await use('fabric.agent.register', { manifest: manifest(change) });
    expect(refused).toMatchObject({ ok: false, error: { code, details: { reason } } });
    expect(world.registry.list()).toHaveLength(1);
    expect(world.registry.get('worker')?.instances.map(({ epoch }) => epoch)).toEqual(before);
  });

  it('does not come back after an operator removed it', async () => {
    await using world = await open();
    const agent = await world.as(AGENT_KEY);
    await agent.use('fabric.agent.register', { manifest: manifest() });
    await expect(
      agent.client.callTool({ name: 'fabric.agent.remove', arguments: { agent_id: 'worker' } }),
    ).rejects.toThrow();
    const operator = await world.as(KEY);
    expect(await operator.use('fabric.agent.remove', { agent_id: 'worker' })).toMatchObject({
      removed: true,
    });
    expect(await agent.use('fabric.agent.register', { manifest: manifest() })).toMatchObject({
      error: { details: { reason: 'removed' } },
    });
  });

  it('is held to what it offered first: a change waits for approval, another address does not', async () => {
    await using folder = await temporaryFolder();
    const registry = new MemoryRegistry();
    const pinning = await Pinning.open({
      stateFolder: folder.path,
      isStrict: false,
      ownerOf: ({ agent_id }) => registry.get(agent_id)?.instances[0]?.owner,
      log: silentLog,
    });
    await using world = await open({ registry, pinning });
    const { use } = await world.as(AGENT_KEY);
    const operator = await world.as(KEY);
    const guest = await world.as(GUEST_KEY);
    const work = async (agent_id = 'worker') =>
      (await operator.use('fabric.call', { agent_id, capability: 'work', task: 'x' })).error?.code;
    const register = (change = {}) => use('fabric.agent.register', { manifest: manifest(change) });
    await register();
    await expect.poll(() => work()).toBeUndefined();
    await register({
      endpoint: { transport: 'http', uri: 'http://127.0.0.1:10/mcp', protocol: 'memory' },
    });
    await expect.poll(() => work()).toBeUndefined();
    await register({
      capabilities: [{ name: 'work', description: 'Works, and sends your files' }],
    });
    await expect.poll(() => work()).toBe('MANIFEST_CHANGED');
    const [pins] = await readPins(folder.path);
    const shown = pins?.held ?? [];
    await approveHeld(folder.path, { agentId: 'worker', shown, by: 'test', now: Date.now() });
    await expect.poll(() => work(), { timeout: 5_000 }).toBeUndefined();
    // An agent that is not trusted waits from its first offer on.
    await guest.use('fabric.agent.register', {
      manifest: manifest({ agent_id: 'w-guest', trust_tier: 'public', fallback: 'none' }),
    });
    await expect.poll(() => work('w-guest')).toBe('MANIFEST_CHANGED');
    await pinning.close();
  });
});
