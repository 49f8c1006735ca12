import { type ManifestInput, manifestSchema, silentLog } from '@starloom/core';
import { openIdentity } from '@starloom/identity';
import { type Agent, openAgent } from '@starloom/runtime';
import { AgentMcpFace, openMcpHttp } from '@starloom/runtime/mcp';
import { defineTool } from '@starloom/sdk';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openGateway } from './gateway.ts';

interface ServedAgent extends AsyncDisposable {
  readonly agent: Agent;
  readonly manifest: ManifestInput;
}

/** A whole agent over HTTP, with the tools it is given. `gateway` says where it calls others. */
async function serveAgent(
  name: string,
  tools: Parameters<typeof openAgent>[0]['tools'] = [],
  gateway?: string,
  mandate?: { readonly jwks: string; readonly issuer: string },
  script: readonly [unknown, ...unknown[]] = ['unused'],
): Promise<ServedAgent> {
  const plugins = gateway ? [{ name: 'fabric', config: { url: gateway } }] : [];
  const asks = script[0] === 'unused' ? [] : ['ask'];
  const expose_tools = [
    ...tools.map((tool) => tool.name),
    ...(gateway ? ['fabric:call'] : []),
    ...asks,
  ];
  const agent = await openAgent({
    config: {
      agent: {
        name,
        version: '1.0.0',
        provider: { kind: 'scripted', script: script as ['unused'] },
        plugins,
        mcp: { expose_tools, ...(mandate && { mandate }) },
      },
      folder: import.meta.dirname,
    },
    tools,
    approve: async () => true,
  });
  const face = await AgentMcpFace.open({ agent, log: silentLog });
  const http = await openMcpHttp(face, { port: 0 });
  return {
    agent,
    manifest: {
      agent_id: name,
      endpoint: { transport: 'http', uri: http.url },
      capabilities: expose_tools.map((tool) => ({ name: tool })),
    },
    async [Symbol.asyncDispose]() {
      await http.close();
      face.close();
      await agent.close();
    },
  };
}

const wordsOf = ({ segments }: Awaited<ReturnType<Agent['turn']>>) =>
  segments.map(({ text }) => text).join('');

describe('an agent that calls others through the gateway', () => {
  it('sees who is there, calls them one hop deeper on its own trace, and distrusts the answer', async () => {
    const seen: unknown[] = [];
    const work = defineTool({
      name: 'desk:work',
      description: 'Works',
      effect: 'read',
      parameters: z.strictObject({ task: z.string() }),
      execute({ task }, { trace, hop, progress }) {
        seen.push({ trace_id: trace.trace_id, ...hop });
        progress('halfway', 50);
        return `${task}: done`;
      },
    });
    await using percy = await serveAgent('percy', [work]);
    await using gateway = await openGateway([percy.manifest]);
    await using caller = await serveAgent('caller', [], gateway.url);
    const told: unknown[] = [];
    expect(wordsOf(await caller.agent.turn('/agents'))).toContain('percy');
    const answered = await caller.agent.turn('/call percy desk:work "tidy up"', {
      onEvent: ({ type, data }) => void (type === 'STREAM:PROGRESS' && told.push(data)),
    });
    expect(wordsOf(answered)).toBe('tidy up: done');
    expect(seen).toEqual([
      { trace_id: answered.trace.trace_id, depth: 2, chain: ['percy/desk:work'] },
    ]);
    expect(told).toContainEqual(expect.objectContaining({ message: 'halfway' }));
    const [, block] = await caller.agent.history(answered.sessionId);
    expect(block).toMatchObject({ trust: 'untrusted', type: 'data', source: 'agent:fabric' });
  });

  it('is told why a call failed, by the code that it failed with', async () => {
    await using gateway = await openGateway([]);
    await using caller = await serveAgent('caller', [], gateway.url);
    await expect(caller.agent.turn('/call nobody work x')).rejects.toThrow(
      expect.objectContaining({ code: 'CAPABILITY_NOT_FOUND' }),
    );
  });

  it('is stopped when its call would come back to itself, and the code says so to the first caller', async () => {
    await using gateway = await openGateway([]);
    await using caller = await serveAgent('caller', [], gateway.url);
    await gateway.registry.register(manifestSchema.parse(caller.manifest));
    const itself = { agent_id: 'caller', capability: 'fabric:call' };
    const { error } = await gateway.call({
      ...itself,
      arguments: { ...itself, arguments: { ...itself, task: 'again' } },
    });
    expect(error).toMatchObject({
      code: 'RECURSION_LIMIT',
      details: { cycle: ['caller/fabric:call', 'caller/fabric:call'] },
    });
  });

  it('[G12] [G13] acts for its caller under the mandate that it verified, and with no more rights', async () => {
    await using folder = await temporaryFolder();
    const identity = await openIdentity({
      folder: folder.path,
      configured: [],
      anonymous: true,
      log: silentLog,
    });
    const seen: (string | undefined)[] = [];
    const work = defineTool({
      name: 'desk:work',
      description: 'Works',
      effect: 'read',
      parameters: z.strictObject({ task: z.string() }),
      execute({ task }, { mandate }) {
        seen.push(mandate);
        return `${task}: done`;
      },
    });
    await using gateway = await openGateway([], [], identity);
    const { issuer } = identity;
    const rule = { jwks: `${gateway.url}/.well-known/jwks.json`, issuer };
    await using percy = await serveAgent('percy', [work], undefined, rule);
    await using other = await serveAgent('other', [work]);
    await using planner = await serveAgent('planner', [], gateway.url, rule);
    const may_call = ['capability:percy/*'];
    for (const manifest of [
      { ...percy.manifest, auth: { mandate: true } },
      other.manifest,
      { ...planner.manifest, auth: { mandate: true, may_call } },
    ]) {
      await gateway.registry.register(manifestSchema.parse({ ...manifest, trust_tier: 'org' }));
    }
    const ask = (agent_id: string) =>
      gateway.call({
        agent_id: 'planner',
        capability: 'fabric:call',
        arguments: { agent_id, capability: 'desk:work', task: 'tidy up' },
      });
    expect(await ask('percy')).toMatchObject({ ok: true, result: { answer: 'tidy up: done' } });
    expect((await ask('other')).error).toMatchObject({ code: 'CAPABILITY_NOT_FOUND' });
    expect(seen).toEqual([expect.stringMatching(/^eyJ/)]);
    const [, claims = ''] = seen[0]?.split('.') ?? [];
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      sub: 'planner',
      prn: 'anonymous',
      aud: 'percy',
      dep: 2,
      cap: ['percy/desk:work'],
    });
    await identity.close();
  });

  it('[S9] gives a task to an agent of the gateway under a mandate of its own, narrower than its own rights', async () => {
    await using folder = await temporaryFolder();
    const identity = await openIdentity({
      folder: folder.path,
      configured: [],
      anonymous: true,
      log: silentLog,
    });
    const seen: { mandate: string | undefined; depth: number }[] = [];
    const work = defineTool({
      name: 'desk:work',
      description: 'Works',
      effect: 'read',
      parameters: z.strictObject({ task: z.string() }),
      execute({ task }, { mandate, hop }) {
        seen.push({ mandate, depth: hop.depth });
        return `${task}: done`;
      },
    });
    await using gateway = await openGateway([], [], identity);
    const rule = { jwks: `${gateway.url}/.well-known/jwks.json`, issuer: identity.issuer };
    await using percy = await serveAgent('percy', [work], undefined, rule);
    await using other = await serveAgent('other', [work]);
    const auth = { mandate: true, may_call: ['capability:other/*', 'capability:third/*'] };
    for (const manifest of [{ ...percy.manifest, auth }, other.manifest]) {
      await gateway.registry.register(manifestSchema.parse({ ...manifest, trust_tier: 'org' }));
    }
    await using caller = await serveAgent('caller', [], gateway.url);
    const narrowed = '--tools other/desk:work --budget \'{"steps":3}\' --deadline 30';
    const answered = await caller.agent.turn(`/delegate percy tidy up ${narrowed}`);
    expect(wordsOf(answered)).toBe('tidy up: done');
    const [, claims = ''] = seen[0]?.mandate?.split('.') ?? [];
    const { cap, bud, aud } = JSON.parse(Buffer.from(claims, 'base64url').toString());
    expect(aud).toBe('percy');
    expect(cap.toSorted()).toEqual(['other/desk:work', 'percy/desk:work']);
    expect(bud.calls).toBeLessThanOrEqual(3);
    expect(bud.ms).toBeLessThanOrEqual(30_000);
    expect(seen[0]?.depth).toBe(2);
    const [, block] = await caller.agent.history(answered.sessionId);
    expect(block).toMatchObject({ trust: 'untrusted', type: 'data', source: 'peer:percy' });
    await expect(
      caller.agent.turn('/delegate percy/desk:work x --tools elsewhere/*'),
    ).rejects.toMatchObject({ code: 'POLICY_DENIED' });
    await identity.close();
  });

  it('[S9] is stopped when a task would come back to itself by way of a helper and the gateway', async () => {
    await using gateway = await openGateway([]);
    const ask = [
      {
        type: 'tool_call',
        toolCall: { name: 'agent:delegate', args: { to: 'caller/ask', task: 'Again.' } },
      },
    ];
    await using caller = await serveAgent('caller', [], gateway.url, undefined, [ask, 'Stopped.']);
    await gateway.registry.register(manifestSchema.parse(caller.manifest));
    const codes: unknown[] = [];
    caller.agent.bus.on('EXEC:RETURNED', ({ data }) => codes.push(data.code));
    const args = { agent_id: 'caller', capability: 'ask', arguments: { prompt: 'Go.' } };
    expect(await gateway.call(args)).toMatchObject({ ok: true, result: { answer: 'Stopped.' } });
    expect(codes).toEqual(['RECURSION_LIMIT']);
  });
});
