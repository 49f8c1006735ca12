import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { silentLog } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { openA2aServer } from '../../src/a2a/index.ts';
import { mayCall, type ToolCaller } from '../../src/core/exposure.ts';
import { type Agent, openAgent } from '../../src/index.ts';
import { openMcpHttp } from '../../src/mcp/index.ts';
import { bearer, message, rpc, twoKeys } from '../a2a/served.ts';
import { openEditor } from '../editor/editor.ts';
import { AUTO, openMcpFace } from '../mcp/fixtures/face-world.ts';
import { openWorld, scripted, tool, until } from './world.ts';

/** Every way in which a tool can be named by the policy. */
const NAMES = ['t:open', 't:private', 't:both', 't:neither', 't:spelled'] as const;
const TOOLS = NAMES.map((name) => tool(name, () => `ran ${name}`));
const NEW = {
  expose: { tools: ['t:open', 't:both', 't.spelled'], private: ['t:private', 't.both'] },
};
const OLD = {
  mcp: { expose_tools: ['t:open', 't:both', 't.spelled'], private_tools: ['t:private', 't.both'] },
};
const MIXED = {
  expose: { tools: ['t:open', 't:both'], private: ['t.both'] },
  mcp: { expose_tools: ['t.spelled'], private_tools: ['t:private'] },
};

/** What a caller finds out about one tool: whether it is listed, and whether it runs by its name. */
interface Found {
  readonly listed: readonly string[];
  readonly runs: (name: string) => Promise<boolean>;
}

const spellings = (name: string) => [name, name.replace(':', '.')];

describe.each([
  ['expose', NEW],
  ['the older form under mcp', OLD],
  ['both forms', MIXED],
])('the exposure of tools by %s', (_, agent) => {
  const policy = { expose_tools: [...NEW.expose.tools], private_tools: [...NEW.expose.private] };

  async function compare(caller: ToolCaller, { listed, runs }: Found): Promise<void> {
    const normal = listed.map((name) => name.replace(':', '.'));
    for (const name of NAMES) {
      const expected = mayCall(policy, caller, name);
      expect(normal.includes(name.replace(':', '.')), `${name} listed`).toBe(expected);
      for (const spelling of spellings(name)) {
        expect(await runs(spelling), `${spelling} runs`).toBe(expected);
      }
    }
  }

  it('is the same for every caller over MCP', async () => {
    await using served = await open(agent);
    const { one, two, authenticator } = twoKeys();
    const face = await openMcpFace(served);
    const http = await openMcpHttp(face, { port: 0, authenticator });
    for (const key of [one, two]) {
      const client = new Client({ name: 'test', version: '0' }, AUTO);
      const requestInit = { headers: bearer(key) };
      await client.connect(new StreamableHTTPClientTransport(new URL(http.url), { requestInit }));
      const { tools } = await client.listTools();
      await compare('agent', {
        listed: tools.map(({ name }) => name),
        runs: (name) =>
          client.callTool({ name, arguments: {} }).then(
            ({ content }) => JSON.stringify(content).includes('ran t'),
            () => false,
          ),
      });
      await client.close();
    }
    await http.close();
    face.close();
  });

  it('is the same for every caller over A2A, in both versions', async () => {
    await using served = await open(agent);
    const { one, two, authenticator } = twoKeys();
    const server = await openA2aServer({ agent: served, port: 0, authenticator, log: silentLog });
    const card = await fetch(`${server.url}/.well-known/agent-card.json`);
    const { skills } = (await card.json()) as { skills: { id: string }[] };
    const listed = skills.map(({ id }) => id);
    for (const key of [one, two]) {
      const run = async (name: string, way: 'metadata' | 'data' | 'legacy') => {
        const metadata = { 'io.starloom/capability': name };
        const isLegacy = way === 'legacy';
        const old = { kind: 'message', messageId: name, role: 'user' };
        const params = isLegacy
          ? { message: { ...old, metadata, parts: [{ kind: 'text', text: 'x' }] } }
          : way === 'metadata'
            ? message('x', { metadata })
            : { message: { ...message('').message, parts: [{ data: { skill: name } }] } };
        const method = isLegacy ? 'message/send' : 'SendMessage';
        const headers = { ...bearer(key), 'A2A-Version': isLegacy ? '0.3' : '1.0' };
        return JSON.stringify(await rpc(server.url, method, params, headers)).includes('ran t');
      };
      for (const way of ['metadata', 'data', 'legacy'] as const) {
        await compare('agent', { listed, runs: (name) => run(name, way) });
      }
    }
    await server.close();
  });

  it('is the same for the person at an editor', async () => {
    await using editor = await openEditor({ provider: scripted(), tools: TOOLS, agent });
    const session = await editor.open();
    await until(() => editor.commands.length > 0);
    const ran = () => editor.world.eventsOf('EXEC:TOOL_RESULT').filter((one) => !one.code).length;
    await compare('editor', {
      listed: (editor.commands.at(-1) ?? []).map((name) => `t:${name}`),
      async runs(name) {
        const before = ran();
        await editor.prompt(session, `/${name}`).catch(() => {});
        return ran() > before;
      },
    });
  });

  it('does not bind the operator at a terminal', async () => {
    await using world = await openWorld({ provider: scripted(), tools: TOOLS, agent });
    await compare('operator', {
      listed: [...world.agent.toolsFor('operator').keys()],
      runs: async (name) => (await world.agent.turn(`/${name}`)).segments.length > 0,
    });
  });
});

async function open(more: object): Promise<Agent & AsyncDisposable> {
  return await openAgent({
    config: { agent: { name: 'exposing', ...more }, folder: '.' },
    provider: scripted(),
    tools: TOOLS,
  });
}
