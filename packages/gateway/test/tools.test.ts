import { capabilitySchema, FabricError, manifestSchema } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { openCoordinationWorld } from './coordination-world.ts';
import { answers, call, connect, fails, openTestGateway, type TestAgent } from './test-gateway.ts';

const percy: TestAgent = {
  manifest: {
    version: '1.2.3',
    tags: ['planner'],
    capabilities: [
      {
        name: 'fs:reason',
        streaming: true,
        description: 'Thinks',
        input_schema: {
          type: 'object',
          properties: { task: { type: 'string' } },
          required: ['task'],
        },
      },
    ],
  },
  run: answers('thought'),
};
const eye: TestAgent = {
  manifest: {
    trust_tier: 'partner',
    capabilities: [{ name: 'see', modalities: ['image'] }],
    endpoint: {
      transport: 'http',
      uri: 'http://user:password@127.0.0.1:1/x?token=abc',
      protocol: 'memory',
      headers: { authorization: 'Bearer very-secret' },
      env: { API_KEY: 'very-secret' },
    },
  },
  run: answers('seen'),
};
const agents = { percy, eye };
const ids = (payload: { agents: { agent_id: string }[] }) =>
  payload.agents.map(({ agent_id }) => agent_id);

describe('the profile', () => {
  it.each(['auto', 'legacy'] as const)(
    '[G40] is announced to a %s client when it connects, and in fabric.health',
    async (mode) => {
      await using gateway = await openTestGateway(agents);
      await using client = await connect(gateway.url, mode);
      expect(client.getServerCapabilities()?.experimental).toEqual({
        'AF-MCP': { version: '0.1' },
      });
      const { payload } = await call(client, 'fabric.health', {});
      expect(payload.gateway.profile).toEqual({ name: 'AF-MCP', version: '0.1' });
    },
  );
});

describe('fabric.agent.list', () => {
  it('[G2] lists agents with capabilities, trust tier and health, by any filter', async () => {
    await using gateway = await openTestGateway(agents);
    await using client = await connect(gateway.url);
    const list = async (filter: object) =>
      (await call(client, 'fabric.agent.list', { ...filter })).payload;
    expect((await list({})).agents[1]).toMatchObject({
      agent_id: 'percy',
      trust_tier: 'org',
      capabilities: [{ name: 'fs:reason', streaming: true, modalities: ['text'] }],
      health: { status: expect.any(String) },
    });
    await gateway.registry.updateHealth('eye', { status: 'offline', checked_at: null });
    expect(ids(await list({}))).toEqual(['eye', 'percy']);
    expect(ids(await list({ capability: 'see' }))).toEqual(['eye']);
    expect(ids(await list({ tag: 'planner' }))).toEqual(['percy']);
    expect(ids(await list({ tier: 'partner' }))).toEqual(['eye']);
    expect(ids(await list({ modality: 'image' }))).toEqual(['eye']);
    expect(ids(await list({ status: 'offline' }))).toEqual(['eye']);
    expect(ids(await list({ status: 'offline', tag: 'planner' }))).toEqual([]);
    expect((await list({ tier: 'friend' })).error.code).toBe('BAD_INPUT');
  });

  it('shows nothing of an endpoint that could hold a secret', async () => {
    await using gateway = await openTestGateway(agents);
    await using client = await connect(gateway.url);
    for (const [tool, args] of [
      ['fabric.agent.list', {}],
      ['fabric.agent.describe', { agent_id: 'eye' }],
      ['fabric.health', {}],
    ] as const) {
      const { result } = await call(client, tool, args);
      expect(JSON.stringify(result)).not.toMatch(/password|very-secret|token=abc/);
    }
  });
});

describe('fabric.agent.describe', () => {
  it('[G3] shows the whole manifest with input schemas', async () => {
    await using gateway = await openTestGateway(agents);
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.agent.describe', { agent_id: 'percy' });
    expect(payload.agent).toMatchObject({ agent_id: 'percy', node_id: 'local', ...percy.manifest });
    const unknown = await call(client, 'fabric.agent.describe', { agent_id: 'nobody' });
    expect(unknown.payload.error).toMatchObject({
      code: 'CAPABILITY_NOT_FOUND',
      details: { known: ['eye', 'percy'] },
    });
  });
});

describe('fabric.route.preview', () => {
  it('[G5] shows the route with reasons and executes nothing', async () => {
    let asked = 0;
    const run: TestAgent['run'] = (...rest) => {
      asked += 1;
      return answers('never')(...rest);
    };
    await using gateway = await openTestGateway({
      a: { manifest: { fallbacks: ['c'] }, run },
      b: { manifest: { trust_tier: 'local' }, run },
      c: { manifest: { trust_tier: 'public' }, run },
      d: { manifest: { trust_tier: 'public' }, run },
    });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.route.preview', {
      agent_id: 'a',
      capability: 'work',
    });
    expect(payload).toMatchObject({
      ok: true,
      primary: { agent_id: 'a', kind: 'primary', reason: expect.stringContaining('asked for') },
      fallbacks: [
        { agent_id: 'c', kind: 'fallback', reason: expect.stringContaining('fallback of a') },
        { agent_id: 'b', kind: 'peer', reason: expect.stringContaining('local') },
      ],
    });
    expect(asked).toBe(0);
  });
});

describe('fabric.health', () => {
  it('[G6] reports gateway, registry and agents', async () => {
    await using gateway = await openTestGateway({
      percy,
      down: { run: fails(new FabricError('AGENT_OFFLINE', '')) },
    });
    await using client = await connect(gateway.url);
    await gateway.registry.updateHealth('down', { status: 'offline', checked_at: null });
    const { payload } = await call(client, 'fabric.health', {});
    expect(payload).toMatchObject({
      ok: true,
      status: 'degraded',
      gateway: { status: 'ok', version: '0.0.0' },
      registry: { kind: 'memory', ok: true, agents: 2 },
      agents: { total: 2, offline: 1 },
    });
  });
});

describe('fabric.health of the engines', () => {
  it('[G6] asks the coordination store for something and says how that went', async () => {
    await using world = await openCoordinationWorld();
    await using client = await connect(world.url);
    const { payload } = await call(client, 'fabric.health', {});
    expect(payload).toMatchObject({
      status: 'ok',
      engines: { coordination: { kind: 'embedded', status: 'ok' } },
    });
  });
});

describe('capability tools', () => {
  it('[G8] lists each capability as a tool of its own, before ours, in order', async () => {
    await using gateway = await openTestGateway(agents);
    await using client = await connect(gateway.url);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'eye.see',
      'percy.fs.reason',
      'fabric.agent.list',
      'fabric.agent.describe',
      'fabric.call',
      'fabric.route.preview',
      'fabric.health',
    ]);
    const reason = tools[1];
    expect(reason).toMatchObject({ description: 'Thinks', inputSchema: { required: ['task'] } });
    for (const tool of tools) expect(tool.inputSchema.type).toBe('object');
    for (const tool of tools.slice(2)) expect(tool).toHaveProperty('outputSchema.properties.ok');
  });

  it('[A7] can be called in every spelling, and is listed with underscores for those who ask', async () => {
    await using gateway = await openTestGateway(agents);
    await using client = await connect(gateway.url);
    for (const name of ['percy.fs:reason', 'percy.fs.reason', 'percy_fs_reason']) {
      const { result } = await call(client, name, { task: 'x' });
      expect(result.content).toEqual([{ type: 'text', text: 'thought' }]);
    }
    expect((await call(client, 'fabric_health', {})).payload.ok).toBe(true);
    const { StreamableHTTPClientTransport, Client } = await import('@modelcontextprotocol/client');
    const underscores = new Client({ name: 'u', version: '0' });
    const headers = { authorization: 'Bearer test-key-0123456789abcdef' };
    const address = new URL(`${gateway.url}/mcp?tool_names=underscores`);
    await underscores.connect(
      new StreamableHTTPClientTransport(address, { requestInit: { headers } }),
    );
    const { tools } = await underscores.listTools();
    expect(tools.map(({ name }) => name)).toContain('percy_fs_reason');
    for (const { name } of tools) expect(name).toMatch(/^[A-Za-z0-9_-]+$/);
    await underscores.close();
  });

  it('[A7] are found in both spellings by every tool, list, filter and glob', async () => {
    const said = async (name: string) => ({ capabilities: [capabilitySchema.parse({ name })] });
    await using gateway = await openTestGateway({
      colon: { manifest: { capabilities: [{ name: 'fs:read' }] }, run: answers('read') },
      dot: {
        manifest: { capabilities: undefined, tools: { include: ['fs:*'] } },
        describe: () => said('fs.read'),
        run: answers('read'),
      },
      hidden: {
        manifest: { capabilities: undefined, tools: { exclude: ['fs.*'] } },
        describe: () => said('fs:read'),
        run: answers('read'),
      },
    });
    await using client = await connect(gateway.url);
    const own = { colon: 'fs:read', dot: 'fs.read' };
    for (const capability of ['fs:read', 'fs.read']) {
      for (const [agent_id, name] of Object.entries(own)) {
        const { payload } = await call(client, 'fabric.call', { agent_id, capability });
        expect(payload).toMatchObject({ ok: true, agent_id, capability: name });
        const tool = await call(client, `${agent_id}.${capability}`, {});
        expect(tool.result.isError).toBeFalsy();
      }
      const listed = await call(client, 'fabric.agent.list', { capability, modality: 'text' });
      expect(ids(listed.payload)).toEqual(['colon', 'dot']);
      const { payload } = await call(client, 'fabric.route.preview', { capability });
      expect(payload).toMatchObject({ primary: { agent_id: 'colon' } });
    }
  });

  it("[G8] pass on the agent's content and keep ours in _meta", async () => {
    const content = [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }];
    const run: TestAgent['run'] = async function* () {
      yield { type: 'final', data: { answer: '', content, data: { size: 3 } } };
    };
    await using gateway = await openTestGateway({ eye: { ...eye, run } });
    await using client = await connect(gateway.url);
    const { result } = await call(client, 'eye.see', {});
    expect(result).toMatchObject({ content, structuredContent: { size: 3 } });
    expect(result._meta).toMatchObject({
      'io.starloom/call': {
        agent_id: 'eye',
        fallback: false,
        attempts: [{ agent_id: 'eye', ok: true }],
        trace: { trace_id: expect.any(String) },
      },
    });
  });

  it('fail with the payload in text and _meta', async () => {
    const run = fails(new FabricError('UPSTREAM_ERROR', 'no film'));
    await using gateway = await openTestGateway({ eye: { ...eye, run } });
    await using client = await connect(gateway.url);
    const { result } = await call(client, 'eye.see', {});
    expect(result.isError).toBe(true);
    const payload = result._meta?.['io.starloom/error'];
    expect(payload).toMatchObject({ ok: false, error: { code: 'UPSTREAM_ERROR' } });
    expect(result.content).toEqual([{ type: 'text', text: JSON.stringify(payload) }]);
  });

  it('appear and go with their agents, and clients are told', async () => {
    await using gateway = await openTestGateway({ percy });
    await using client = await connect(gateway.url);
    let told = 0;
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      told += 1;
    });
    await client.listen({ toolsListChanged: true });
    await gateway.registry.register(
      manifestSchema.parse({
        agent_id: 'late',
        endpoint: { transport: 'http', uri: 'http://127.0.0.1:1/' },
        capabilities: [{ name: 'come' }],
      }),
    );
    await expect.poll(() => told).toBeGreaterThan(0);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('late.come');
  });

  it('of one agent can be listed without its name before them', async () => {
    const config = { mcp: { unprefixed: ['eye'], expose: ['eye'] } };
    await using gateway = await openTestGateway(agents, { config });
    await using client = await connect(gateway.url);
    const { tools } = await client.listTools();
    expect(tools[0]?.name).toBe('see');
    expect((await call(client, 'see', {})).result.content).toEqual([
      { type: 'text', text: 'seen' },
    ]);
  });

  it('are reported when they look like ours and their agent has no prefix', async () => {
    const lines: string[] = [];
    const eye = { manifest: { capabilities: [{ name: 'fabric.ca11' }] }, run: answers('x') };
    const config = { mcp: { unprefixed: ['eye'] } };
    const log = (line: string) => lines.push(line);
    await using gateway = await openTestGateway({ eye }, { config, log });
    await using client = await connect(gateway.url);
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    await expect.poll(names).toContain('fabric.ca11');
    const alike = lines.filter((line) => line.includes('names of tools look alike'));
    expect(alike.map((line) => JSON.parse(line).names)).toEqual([['fabric.ca11', 'fabric.call']]);
  });

  it('are named apart when two would have one name', async () => {
    const two = { capabilities: [{ name: 'fs:read' }, { name: 'fs.read' }] };
    await using gateway = await openTestGateway({ files: { manifest: two, run: answers('x') } });
    await using client = await connect(gateway.url);
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => name.startsWith('files.fs.read'))).toHaveLength(2);
  });

  it('answer an unknown name with a JSON-RPC error that holds the payload', async () => {
    await using gateway = await openTestGateway(agents);
    await using client = await connect(gateway.url);
    await expect(call(client, 'percy.fly', {})).rejects.toMatchObject({
      code: -32602,
      data: { ok: false, error: { code: 'BAD_INPUT', details: { reason: 'unknown_tool' } } },
    });
  });

  it('answer a misspelt name of a tool, an agent, a capability or an argument with the right one', async () => {
    await using gateway = await openTestGateway(agents);
    await using client = await connect(gateway.url);
    const fixOf = async (tool: string, args: Record<string, unknown>) =>
      (await call(client, tool, args)).payload.error.details.fix;
    const task = { arguments: { tsak: 'x' } };
    expect(await fixOf('fabric.call', { agent: 'percy', capability: 'see' })).toContain('agent_id');
    expect(await fixOf('fabric.call', { agent_id: 'persy', capability: 'see' })).toContain('percy');
    expect(await fixOf('fabric.call', { agent_id: 'eye', capability: 'seee' })).toContain('see');
    expect(await fixOf('fabric.call', { capability: 'fs:reson' })).toContain('fs:reason');
    expect(await fixOf('fabric.call', { capability: 'fs:reason', ...task })).toContain('task');
    await expect(call(client, 'fabric.cal', {})).rejects.toMatchObject({
      data: { error: { details: { fix: 'did you mean "fabric.call"?' } } },
    });
  });
});
