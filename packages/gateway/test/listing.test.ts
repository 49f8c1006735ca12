import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { openCoordinationWorld } from './coordination-world.ts';
import { answers, call, connect, KEY, openTestGateway } from './test-gateway.ts';

const agents = {
  a_b: { manifest: { capabilities: [{ name: 'c' }] }, run: answers('from a_b') },
  a: { manifest: { capabilities: [{ name: 'b.c' }, { name: 'solo' }] }, run: answers('from a') },
};

async function connectAs(
  name: string,
  url: string,
  { query = '', headers = {} }: { query?: string; headers?: Record<string, string> } = {},
) {
  const client = new Client({ name, version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`), {
      requestInit: { headers: { authorization: `Bearer ${KEY}`, ...headers } },
    }),
  );
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

describe('tools/list', () => {
  it('lists underscores to clients that refuse dots; every spelling can be called', async () => {
    await using gateway = await openTestGateway(agents);
    await using claude = await connectAs('claude-code', gateway.url);
    const listed = await namesOf(claude);
    expect(listed.filter((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name))).toEqual([]);
    expect(listed).toContain('fabric_call');
    expect(listed).toContain('a_solo');
    await using other = await connectAs('script', gateway.url);
    expect(await namesOf(other)).toEqual(expect.arrayContaining(['fabric.call', 'a.solo']));
    for (const name of ['a_solo', 'a.solo']) {
      const { result } = await call(claude, name, {});
      expect(result.content).toEqual([{ type: 'text', text: 'from a' }]);
    }
  });

  it('ends both names in a hash where two tools share a spelling, and the bare one is unknown', async () => {
    await using gateway = await openTestGateway(agents);
    await using claude = await connectAs('claude-code', gateway.url);
    const clashing = (await namesOf(claude)).filter((name) => name.startsWith('a_b_c'));
    expect(clashing).toHaveLength(2);
    for (const name of clashing) expect(name).toMatch(/^a_b_c-[0-9a-f]{8}$/);
    const said = await Promise.all(clashing.map((name) => call(claude, name, {})));
    const texts = said.map(({ result }) => JSON.stringify(result.content)).sort();
    expect(texts[0]).toContain('from a"');
    expect(texts[1]).toContain('from a_b');
    await expect(call(claude, 'a_b_c', {})).rejects.toMatchObject({ code: -32602 });
    expect((await call(claude, 'a_b.c', {})).result.content).toEqual([
      { type: 'text', text: 'from a_b' },
    ]);
  });

  it('shows agents before ours, and coordination only when asked for', async () => {
    await using world = await openCoordinationWorld();
    await using plain = await connectAs('script', world.url);
    const prefixes = (names: string[]) => [...new Set(names.map((name) => name.split('.')[0]))];
    expect(prefixes(await namesOf(plain))).toEqual(['fabric']);
    const asked = { headers: { 'x-mcp-toolsets': 'agents, coordination' } };
    await using byHeader = await connectAs('script', world.url, asked);
    expect(prefixes(await namesOf(byHeader))).toEqual(['session', 'context', 'lock', 'buffer']);
    await using byQuery = await connectAs('script', world.url, { query: '?toolsets=coordination' });
    expect(await namesOf(byQuery)).toContain('lock.acquire');
    const { payload } = await call(plain, 'session.create', { agent_id: 'me', session_id: 's' });
    expect(payload).toMatchObject({ ok: true });
  });

  it('refuses a toolset that does not exist, and names those that do', async () => {
    await using gateway = await openTestGateway(agents);
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const response = await fetch(`${gateway.url}/mcp?toolsets=everything`, {
      method: 'POST',
      headers: { ...headers, accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { data: { error: { details: { reason: 'unknown_toolset' } } } },
    });
  });
});

describe('an agent that is added to a connected client', () => {
  it('appears in a new list', async () => {
    await using gateway = await openTestGateway(agents);
    await using client = await connect(gateway.url);
    expect(await namesOf(client)).not.toContain('late.work');
    await gateway.registry.register({
      ...(gateway.registry.get('a')?.manifest ?? expect.fail('a is gone')),
      agent_id: 'late',
      capabilities: [{ name: 'work', streaming: false, modalities: [], reentrant: false }],
    });
    await expect.poll(() => namesOf(client)).toContain('late.work');
  });
});
