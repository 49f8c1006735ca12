import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { problemsOf, toConfigJsonSchema } from '@starloom/config';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { mcpServersOf } from '../../src/config/agent-toml.ts';
import {
  type Approve,
  agentFileSchema,
  agentTomlSchema,
  loadAgentConfig,
  openAgent,
  parseAgentConfig,
} from '../../src/index.ts';
import { callTools, echo, scripted, textOf } from '../core/world.ts';

/** As CONTRACTS writes it. */
const AGENT = {
  name: 'openstarry-coder',
  version: '1.0.0',
  provider: {
    kind: 'openai-compatible',
    base_url: 'http://127.0.0.1:8080/v1',
    model: 'any',
    api_key: 'env:KEY',
  },
  system_prompt: '…',
  plugins: [{ name: 'fs', config: { roots: ['.'] } }, { name: './my-tools.ts' }],
  mcp: {
    expose_tools: ['fs:read_file', 'git:status'],
    private_tools: ['admin:reset'],
    resources: [],
  },
  limits: { steps: 50, tokens: 100000, seconds: 600 },
};

/** As the document on standards writes it, with what is ours. */
const TOML = `
[[mcp.servers]]
name = "filesystem"
command = ["mcp-server-filesystem", "/workspace"]

[[mcp.servers]]
name = "database"
command = ["mcp-server-postgres"]
env = { DATABASE_URL = "postgres://...", PASSWORD = "env:KEY" }
allowed_tools = ["query", "list_tables"]

[[mcp.servers]]
name = "closed"
url = "https://example.com/mcp"
headers = { Authorization = "env:KEY" }
allowed_tools = []

[acp]
name = "headless-agent"
version = "0.4.0"

[security]
user_trust = "untrusted"
`;

const MINIMAL = { name: 'small', provider: { kind: 'scripted', script: ['Hello.'] } };
const env = { KEY: 'sk-secret' };

async function load(agent: unknown, toml?: string) {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'agent.json'), JSON.stringify(agent, null, 2));
  if (toml !== undefined) await writeFile(join(folder.path, 'agent.toml'), toml);
  return { ...(await loadAgentConfig(folder.path, env)), path: folder.path };
}

async function problemsIn(agent: unknown, toml?: string): Promise<string[]> {
  const error = await load(agent, toml).catch((thrown: unknown) => thrown);
  return (problemsOf(error) ?? []).map(({ key, message, fix }) => `${key}: ${message} (${fix})`);
}

describe('the configuration of an agent', () => {
  it('reads agent.json as documented, with the secret revealed only where it is used', async () => {
    const { agent, folder, path } = await load(AGENT);
    const { provider, plugins, ...rest } = AGENT;
    expect(agent).toMatchObject(rest);
    expect(agent.plugins.map(({ name }) => name)).toEqual(['fs', './my-tools.ts']);
    expect(folder).toBe(path);
    expect(JSON.stringify(agent)).not.toContain('sk-secret');
    const { api_key } = agent.provider.kind === 'openai-compatible' ? agent.provider : {};
    expect(api_key?.reveal()).toBe('sk-secret');
  });

  it('has defaults for everything but name and provider, and they are the documented ones', async () => {
    const { agent, toml } = await load(MINIMAL);
    expect(agent.limits).toMatchObject({ steps: 50, tokens: 100_000, seconds: 600 });
    expect(agent.mcp).toEqual({ expose_tools: [], private_tools: [], resources: [] });
    expect(toml.mcp.servers).toEqual([]);
    expect(toml.security.user_trust).toBe('vetted');
    expect(await problemsIn({})).toHaveLength(2);
  });

  it('reads agent.toml as documented, and keeps unset, empty and listed allow-lists apart', async () => {
    const { toml } = await load(MINIMAL, TOML);
    expect(mcpServersOf(toml)).toEqual([
      { name: 'filesystem', command: ['mcp-server-filesystem', '/workspace'] },
      {
        name: 'database',
        command: ['mcp-server-postgres'],
        env: { DATABASE_URL: 'postgres://...', PASSWORD: 'sk-secret' },
        allowed_tools: ['query', 'list_tables'],
      },
      {
        name: 'closed',
        url: 'https://example.com/mcp',
        headers: { Authorization: 'sk-secret' },
        allowed_tools: [],
      },
    ]);
    expect(toml.acp).toEqual({ name: 'headless-agent', version: '0.4.0' });
    expect(toml.security.user_trust).toBe('untrusted');
  });

  it.each([
    [{ ...MINIMAL, promt: 'x' }, 'promt: unknown key'],
    [{ ...MINIMAL, sytem_prompt: 'x' }, 'did you mean "system_prompt"'],
    [{ ...MINIMAL, limits: { step: 5 } }, 'limits.step: unknown key; did you mean "steps"'],
    [{ ...MINIMAL, limits: { steps: 0 } }, 'limits.steps'],
    [{ ...MINIMAL, provider: { kind: 'scripted' } }, 'provider.script: missing'],
    [{ ...MINIMAL, provider: { kind: 'opnai-compatible' } }, 'provider.kind'],
    [
      { ...AGENT, provider: { ...AGENT.provider, api_key: 'sk-123' } },
      'is plain text in this file',
    ],
    [{ ...AGENT, provider: { ...AGENT.provider, api_key: 'env:NONE' } }, 'provider.api_key'],
    [{ ...MINIMAL, plugins: [{ name: 'fs' }, { name: 'fs' }] }, 'a plugin is listed twice'],
  ])('stops at a bad agent.json, with place and fix: %#', async (agent, words) => {
    const problems = await problemsIn(agent);
    expect(problems.join('\n')).toContain(words);
    expect(problems.join('\n')).not.toContain('sk-123');
  });

  it.each([
    ['[[mcp.servers]]\nname = "x"', 'mcp.servers[0].command: missing'],
    ['[[mcp.servers]]\nname = "x"\ncommand = ["a"]\nurl = "http://a"', 'mcp.servers[0].url'],
    ['[[mcp.servers]]\nname = "x"\nurl = "http://a"\nenv = {}', 'mcp.servers[0].env'],
    ['[[mcp.servers]]\nname = "x"\ncommand = "a b"', 'mcp.servers[0].command: expected'],
    ['[[mcp.servers]]\nname = "a:b"\ncommand = ["a"]', 'mcp.servers[0].name'],
    [
      '[[mcp.servers]]\nname = "x"\ncommand = ["a"]\nallow_tools = []',
      'did you mean "allowed_tools"',
    ],
    ['[security]\nuser_trust = "high"', 'security.user_trust'],
    ['[[mcp.servers]]\nname = "x"\ncommand = ["a"]\n'.repeat(2), 'two servers have the same name'],
  ])('stops at a bad agent.toml, with place and fix: %#', async (toml, words) => {
    expect((await problemsIn(MINIMAL, toml)).join('\n')).toContain(words);
  });

  it('says what to do when there is no agent.json', async () => {
    await using folder = await temporaryFolder();
    await expect(loadAgentConfig(folder.path, {})).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { problems: [{ fix: expect.stringContaining('starloom agent init') }] },
    });
  });

  it('takes the same from a program, and finds the same mistakes', async () => {
    const given = {
      agent: { name: 'small', provider: { kind: 'scripted' as const, script: ['Hi.'] } },
    };
    const parsed = await parseAgentConfig({ ...given, folder: '.' }, env);
    expect(parsed.agent.name).toBe('small');
    const wrong = { ...given.agent, plugin: [] };
    await expect(parseAgentConfig({ agent: wrong, folder: '.' }, env)).rejects.toMatchObject({
      details: { problems: [{ key: 'plugin' }] },
    });
  });

  it.each([
    ['agent', agentFileSchema, ['name', 'provider']],
    ['agent-toml', agentTomlSchema, undefined],
  ])('has a JSON Schema for editors: %s', (name, schema, required) => {
    const json = toConfigJsonSchema(schema, { name, title: name });
    expect(json).toMatchObject({ type: 'object', additionalProperties: false });
    expect(json.required).toEqual(required);
  });

  it('opens an agent from its folder alone, with the provider its file names', async () => {
    await using folder = await temporaryFolder();
    await mkdir(join(folder.path, 'agent'));
    await writeFile(join(folder.path, 'agent', 'agent.json'), JSON.stringify(MINIMAL));
    await using agent = await openAgent({ path: join(folder.path, 'agent') });
    expect(textOf((await agent.turn('Hi.')).segments)).toBe('Hello.');
    expect(agent).toMatchObject({ name: 'small', version: '0.0.0' });
  });

  it('shows the system prompt to the model, and to the check of its calls', async () => {
    const provider = scripted(callTools({ name: 'test:echo', args: { text: 'x' } }), 'Yes.');
    const config = { agent: { name: 'a', system_prompt: 'Be brief.' }, folder: '.' };
    const checked: string[] = [];
    const approve: Approve = async ({ blocks }) => {
      checked.push(...blocks.map(({ source, segments }) => `${source} ${textOf(segments)}`));
      return true;
    };
    const tools = [{ ...echo, approval: true }];
    await using agent = await openAgent({ config, provider, tools, approve });
    await agent.turn('Hi.');
    expect(provider.asked[0]?.context.systemPrompt).toBe('Be brief.');
    expect(checked).toEqual(['config Be brief.', 'user Hi.', 'model:unnamed ']);
  });
});
