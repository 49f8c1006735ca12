import { type ManifestInput, manifestSchema, silentLog } from '@starloom/core';
import { type Agent, openAgent } from '@starloom/runtime';
import { McpFace, openMcpHttp } from '@starloom/runtime/mcp';
import { defineTool } from '@starloom/sdk';
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
): Promise<ServedAgent> {
  const plugins = gateway ? [{ name: 'fabric', config: { url: gateway } }] : [];
  const expose_tools = [...tools.map((tool) => tool.name), ...(gateway ? ['fabric:call'] : [])];
  const agent = await openAgent({
    config: {
      agent: {
        name,
        version: '1.0.0',
        provider: { kind: 'scripted', script: ['unused'] },
        plugins,
        mcp: { expose_tools },
      },
      folder: import.meta.dirname,
    },
    tools,
    approve: async () => true,
  });
  const { guard, config } = agent;
  const { mcp } = config.agent;
  const face = await McpFace.open({ agent, guard, mcp, folder: config.folder, log: silentLog });
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
});
