import { problemsOf } from '@starloom/config';
import { ManualClock, registryContract } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { createWorld, entryOf, idsOf } from './fixtures/world.ts';

/** The minimum manifest of the seed, letter for letter. */
const SEED = `- agent_id: percy
  endpoint:
    transport: http
    uri: https://node-1.internal/agents/percy
  capabilities:
    - name: reason
      streaming: true
      modalities: [text]
  trust_tier: org
  tags: [planner, dev]
`;

registryContract('yaml', async () => {
  const world = await createWorld('[]\n');
  const clock = new ManualClock();
  const registry = await world.open({ clock });
  const advance = async (ms: number) => {
    clock.advance(ms);
    registry.registrar.expire();
  };
  return { registry, advance, close: () => world[Symbol.asyncDispose]() };
});

describe('a registry in a file', () => {
  it('[G17] reads agents.yaml as the seed writes it', async () => {
    await using world = await createWorld(SEED);
    const registry = await world.open();
    expect(registry.get('percy')?.manifest).toEqual({
      agent_id: 'percy',
      node_id: 'local',
      version: '0.0.0',
      endpoint: { transport: 'http', uri: 'https://node-1.internal/agents/percy' },
      capabilities: [{ name: 'reason', streaming: true, modalities: ['text'], reentrant: false }],
      trust_tier: 'org',
      tags: ['planner', 'dev'],
      fallbacks: [],
    });
    expect(registry.findByCapability('reason')).toHaveLength(1);
  });

  it('[G16] offers every operation of the interface, and what it registers is kept', async () => {
    await using world = await createWorld(SEED);
    const registry = await world.open();
    const percy = registry.get('percy')?.manifest;
    if (!percy) return expect.fail('percy is not there');
    await registry.register({ ...percy, agent_id: 'percy-backup', tags: ['spare'] });
    await registry.register({ ...percy, fallbacks: ['percy-backup'] });
    await registry.updateHealth('percy', { status: 'offline', checked_at: null });

    const again = await world.open();
    expect(again.list().map(({ manifest }) => manifest)).toEqual(
      registry.list().map(({ manifest }) => manifest),
    );
    expect(idsOf(again)).toEqual(['percy', 'percy-backup']);
    expect(again.list({ tag: 'spare', tier: 'org' })).toHaveLength(1);
    expect(again.get('percy')?.manifest.fallbacks).toEqual(['percy-backup']);
    expect(again.findByCapability('reason')).toHaveLength(2);
    const [fallback] = registry.resolveFallbacks('percy', 'reason');
    expect(fallback?.manifest.agent_id).toBe('percy-backup');
    expect(registry.list({ status: 'offline' })).toHaveLength(1);
  });

  it('says how fresh its answers are', async () => {
    await using world = await createWorld(SEED);
    const clock = new ManualClock(Date.UTC(2026, 10, 15));
    const registry = await world.open({ clock });
    clock.advance(60_000);
    const as_of = '2026-11-15T00:00:00.000Z';
    expect(registry.status()).toEqual({ kind: 'yaml', ok: true, agents: 1, as_of });
  });

  it('does not open without the file, and says where it looked', async () => {
    await using world = await createWorld();
    const error: unknown = await world.open().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'BAD_INPUT', details: { reason: 'config' } });
    expect(problemsOf(error)).toEqual([
      {
        file: 'agents.yaml',
        key: '',
        message: 'no such file',
        fix: expect.stringContaining(world.folder),
      },
    ]);
  });

  it('does not open on a file with problems, and names the lines of all', async () => {
    const text = `${entryOf('a')}- agent_id: Bad Id\n  endpoint: {transport: http}\n${entryOf('a')}`;
    await using world = await createWorld(text);
    const error: unknown = await world.open().catch((thrown: unknown) => thrown);
    const lines = problemsOf(error)?.map(({ file, line }) => `${file}:${line}`);
    expect(lines).toEqual(expect.arrayContaining(['agents.yaml:5', 'agents.yaml:6']));
  });

  it('holds a thousand agents and finds each', async () => {
    const ids = Array.from({ length: 1000 }, (_, index) => `agent-${index}`);
    await using world = await createWorld(ids.map((id) => entryOf(id, `tag-${id}`)).join(''));
    const registry = await world.open();
    expect(registry.status().agents).toBe(1000);
    expect(registry.findByCapability('work')).toHaveLength(1000);
    for (const id of ids) {
      expect(registry.get(id)?.manifest.endpoint.uri).toBe(`http://127.0.0.1:1/${id}`);
      expect(registry.list({ tag: `tag-${id}` })).toHaveLength(1);
    }
  });
});
