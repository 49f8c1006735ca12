import { FabricError } from '@starloom/core';
import { createPskVerifier } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { answers, call, connect, fails, openTestGateway } from './test-gateway.ts';

const offline = fails(new FabricError('AGENT_OFFLINE', 'gone', { details: { sent: false } }));
const agents = {
  percy: {
    manifest: { capabilities: [{ name: 'reason' }, { name: 'plan' }], fallbacks: ['secret'] },
    run: answers('from percy'),
  },
  dead: { manifest: { capabilities: [{ name: 'reason' }], fallbacks: ['secret'] }, run: offline },
  secret: { manifest: { capabilities: [{ name: 'reason' }] }, run: answers('from secret') },
};
const KEYS = {
  all: ['*'],
  none: [],
  percy: ['agent:percy', 'agent:dead'],
  reason: ['capability:percy/reason'],
} as const;

async function openAs(name: keyof typeof KEYS, tier: 'org' | 'public' = 'org') {
  const key = `key-of-${name}-0123456789abcdef`;
  const psk = createPskVerifier([
    { key_id: name, key, principal: name, tier, scopes: [...KEYS[name]] },
  ]);
  const gateway = await openTestGateway(agents, { psk });
  const client = await connect(gateway.url, 'auto', { authorization: `Bearer ${key}` });
  const close = async () => {
    await client.close();
    await gateway[Symbol.asyncDispose]();
  };
  return { client, [Symbol.asyncDispose]: close };
}

const toolsOf = async ({ client }: Awaited<ReturnType<typeof openAs>>) =>
  (await client.listTools()).tools.map(({ name }) => name).filter((name) => !/^fabric/.test(name));

describe('scopes of a caller', () => {
  it.each([
    ['all', 'org', ['dead.reason', 'percy.plan', 'percy.reason', 'secret.reason']],
    ['all', 'public', []],
    ['none', 'org', []],
    ['percy', 'org', ['dead.reason', 'percy.plan', 'percy.reason']],
    ['percy', 'public', ['dead.reason', 'percy.plan', 'percy.reason']],
    ['reason', 'org', ['percy.reason']],
  ] as const)('"%s" of tier %s lists and calls only what it may use', async (key, tier, listed) => {
    await using world = await openAs(key, tier);
    expect(await toolsOf(world)).toEqual(listed);
    for (const name of ['percy.reason', 'percy.plan', 'secret.reason']) {
      const called = call(world.client, name, {});
      if ((listed as readonly string[]).includes(name))
        expect((await called).result.isError).toBeFalsy();
      else await expect(called).rejects.toMatchObject({ code: -32602 });
    }
  });

  it('make what it may not use look unknown, by every tool', async () => {
    await using world = await openAs('reason');
    const { client } = world;
    const target = { agent_id: 'secret', capability: 'reason' };
    for (const tool of ['fabric.call', 'fabric.route.preview']) {
      const unknown = await call(client, tool, { ...target, agent_id: 'no-such-agent' });
      const forbidden = await call(client, tool, target);
      expect(forbidden.payload.error.code).toBe('CAPABILITY_NOT_FOUND');
      expect(forbidden.payload.error.details.reason).toBe(unknown.payload.error.details.reason);
    }
    const described = await call(client, 'fabric.agent.describe', { agent_id: 'percy' });
    expect(described.payload.agent.capabilities).toHaveLength(1);
    const list = await call(client, 'fabric.agent.list', {});
    const health = await call(client, 'fabric.health', {});
    expect(JSON.stringify([list.payload, health.payload.agents])).not.toContain(
      '"agent_id":"secret"',
    );
  });

  it('hold for fallbacks too: one that may not be used is in no route, trail or error', async () => {
    await using world = await openAs('percy');
    const target = { agent_id: 'dead', capability: 'reason' };
    const served = await call(world.client, 'fabric.call', target);
    expect(served.payload).toMatchObject({ agent_id: 'percy', fallback: true });
    const preview = await call(world.client, 'fabric.route.preview', target);
    expect(JSON.stringify([served.payload, preview.payload])).not.toContain('secret');
    expect(preview.payload.fallbacks.map((each: { agent_id: string }) => each.agent_id)).toEqual([
      'percy',
    ]);
  });
});
