import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { openAgent } from '../../src/index.ts';
import { openMcpHttp } from '../../src/mcp/server/serve-http.ts';
import { callTools, scripted } from '../core/world.ts';
import { openMcpFace } from './fixtures/face-world.ts';
import { recordingLog } from './fixtures/servers-world.ts';

const COMMAND = [
  process.execPath,
  fileURLToPath(new URL('fixtures/tool-server.ts', import.meta.url)),
];

const server = (name: string, ...lines: string[]) =>
  ['[[mcp.servers]]', `name = "${name}"`, `command = ${JSON.stringify(COMMAND)}`, ...lines].join(
    '\n',
  );

/** An agent from its two files. */
async function openFrom(
  toml: string[],
  options: { mcp?: object; provider?: ReturnType<typeof scripted> } = {},
) {
  const folder = await temporaryFolder();
  const file = {
    name: 'between',
    version: '1.0.0',
    provider: { kind: 'scripted', script: ['unused'] },
    ...(options.mcp && { mcp: options.mcp }),
  };
  await writeFile(join(folder.path, 'agent.json'), JSON.stringify(file));
  await writeFile(join(folder.path, 'agent.toml'), toml.join('\n\n'));
  const warnings: { fields: object; message: string }[] = [];
  const { provider } = options;
  const agent = await openAgent({
    path: folder.path,
    log: recordingLog(warnings),
    approve: async () => true,
    ...(provider && { provider }),
  });
  return {
    agent,
    warnings,
    async [Symbol.asyncDispose]() {
      await agent.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

describe('an agent with MCP servers in its agent.toml', () => {
  it('[S2] has all their tools with a warning, none, or those that are listed', async () => {
    await using world = await openFrom([
      server('all'),
      server('none', 'allowed_tools = []'),
      server('some', 'allowed_tools = ["echo", "fail"]'),
    ]);
    await world.agent.turn('/some:echo');
    const of = (name: string) =>
      [...world.agent.tools().keys()].filter((tool) => tool.startsWith(`${name}:`));
    expect(of('all')).toContain('all:echo');
    expect(of('all').length).toBeGreaterThan(10);
    expect(of('none')).toEqual([]);
    expect(of('some')).toEqual(['some:echo', 'some:fail']);
    const warned = world.warnings.filter(({ message }) => message.includes('all its tools'));
    expect(warned.map(({ fields }) => fields)).toEqual([
      expect.objectContaining({ server: 'all' }),
    ]);
    await expect(world.agent.turn('/some:structured')).rejects.toThrow();
  });

  it('[S3][S7] takes every result of theirs as untrusted data: words, pictures, data and failures', async () => {
    const names = ['echo', 'mixed', 'structured', 'fail', 'throw', 'exit'];
    const [first, second, ...others] = names.map((name) => callTools({ name: `one:${name}` }));
    // Asked for its plan before its first act after foreign text, it has none.
    const provider = scripted(first ?? '', second ?? '', 'no plan', ...others, 'enough');
    await using world = await openFrom([server('one')], { provider });
    const { sessionId } = await world.agent.turn('use them all');
    const results = (await world.agent.history(sessionId)).filter(({ role }) => role === 'tool');
    expect(results).toHaveLength(names.length);
    for (const block of results) {
      expect(block).toMatchObject({ trust: 'untrusted', type: 'data', source: 'mcp:one' });
    }
  });

  it('[A1] is server and client at once: a call to it is a call of its own server', async () => {
    const mcp = { expose_tools: ['one:echo'], private_tools: [], resources: [] };
    await using world = await openFrom([server('one', 'allowed_tools = ["echo"]')], { mcp });
    const face = await openMcpFace(world.agent);
    const http = await openMcpHttp(face, { port: 0 });
    const client = new Client(
      { name: 'test', version: '0' },
      { versionNegotiation: { mode: 'auto' } },
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(http.url)));
    await expect
      .poll(async () => (await client.listTools()).tools.map(({ name }) => name), {
        timeout: 20_000,
      })
      .toEqual(['one.echo']);
    const { content } = await client.callTool({ name: 'one:echo', arguments: { a: 1 } });
    const [said] = content;
    expect(JSON.parse(said?.type === 'text' ? said.text : '')).toMatchObject({
      args: { a: 1 },
      meta: { 'x-openstarry-depth': '2', 'io.starloom/chain': 'between/one:echo' },
    });
    await client.close();
    await http.close();
    face.close();
  });

  it('tells its own clients when a server of its has a new tool that it exposes', async () => {
    const mcp = { expose_tools: ['one:grow', 'one:grown'], private_tools: [], resources: [] };
    await using world = await openFrom([server('one', 'allowed_tools = ["grow", "grown"]')], {
      mcp,
    });
    const face = await openMcpFace(world.agent);
    const http = await openMcpHttp(face, { port: 0 });
    const changes: string[] = [];
    const tools = {
      autoRefresh: false,
      debounceMs: 0,
      onChanged: () => void changes.push('tools'),
    };
    const client = new Client(
      { name: 'test', version: '0' },
      { versionNegotiation: { mode: 'auto' }, listChanged: { tools } },
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(http.url)));
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    await expect.poll(names, { timeout: 20_000 }).toEqual(['one.grow']);
    changes.length = 0;
    await client.callTool({ name: 'one.grow', arguments: {} });
    await expect.poll(() => changes, { timeout: 20_000 }).toContain('tools');
    await expect.poll(names, { timeout: 20_000 }).toEqual(['one.grow', 'one.grown']);
    await client.close();
    await http.close();
    face.close();
  });
});
