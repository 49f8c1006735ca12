// biome-ignore-all lint/suspicious/noTemplateCurlyInString: such texts are what is read here

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expandSetting, expandText, isSecretName } from '../src/import-servers/expand.ts';
import { planImport, readClientFile } from '../src/import-servers/plan-import.ts';
import { toAgentId } from '../src/to-agent-id.ts';
import { scratch } from './run-starloom.ts';

async function plan(
  name: string,
  text: string,
  { env = {}, existing = [], only }: { env?: object; existing?: never[]; only?: string[] } = {},
) {
  await using place = await scratch({ [name]: text });
  const { folder } = place;
  const client = await readClientFile(name, folder);
  const options = { existing, only, force: false, secretsFolder: '/secrets', tier: 'org' } as const;
  return planImport(client, { ...options, env: { ...env }, cwd: folder, folder });
}

const endpointsOf = ({ servers }: Awaited<ReturnType<typeof plan>>) =>
  Object.fromEntries(servers.map(({ agent_id, manifest }) => [agent_id, manifest?.endpoint]));

describe('the servers of another client', () => {
  it('are read from .mcp.json of Claude, with references instead of variables', async () => {
    const text = JSON.stringify({
      mcpServers: {
        git: {
          command: 'npx',
          args: ['-y', 'server-git', '${ROOT:-/srv}', '$${kept}'],
          env: { GIT_TOKEN: '${GIT_TOKEN}', LEVEL: '${LEVEL:-info}' },
        },
        linear: {
          type: 'http',
          url: 'https://mcp.linear.app/mcp',
          headers: { Authorization: 'Bearer ${LINEAR_KEY}' },
        },
      },
    });
    const found = await plan('.mcp.json', text, { env: { GIT_TOKEN: 'a', LINEAR_KEY: 'b' } });
    expect(found).toMatchObject({ problems: [], warnings: [] });
    expect(endpointsOf(found)).toEqual({
      git: {
        transport: 'stdio',
        command: 'npx',
        args: ['-y', 'server-git', '/srv', '${kept}'],
        env: { GIT_TOKEN: 'env:GIT_TOKEN', LEVEL: 'info' },
      },
      linear: {
        transport: 'http',
        uri: 'https://mcp.linear.app/mcp',
        headers: { Authorization: 'Bearer env:LINEAR_KEY' },
      },
    });
    expect(found.servers.map(({ manifest }) => manifest?.trust_tier)).toEqual(['org', 'org']);
  });

  it('are read from mcp.json of VS Code, with comments, inputs and its folders', async () => {
    const text = `{
  // asked by the editor
  "inputs": [{ "id": "api-key", "type": "promptString", "password": true }],
  "servers": {
    "db": { "command": "db", "args": ["\${workspaceFolder}/data"], "env": { "K": "\${input:api-key}" } },
  },
}`;
    const found = await plan('.vscode/mcp.json', text, { env: { API_KEY: 'x' } });
    expect(found.problems).toEqual([]);
    expect(endpointsOf(found).db).toMatchObject({
      args: [expect.stringMatching(/^\/.*\/data$/)],
      env: { K: 'env:API_KEY' },
    });
    const { problems } = await plan('.vscode/mcp.json', text);
    expect(problems).toMatchObject([
      { file: '.vscode/mcp.json', line: 5, message: 'the variable API_KEY is not set' },
    ]);
  });

  it('are read from config.toml of Codex', async () => {
    const text = `model = "x"
[mcp_servers.docs]
command = "docs-server"
args = ["--quiet"]
env_vars = ["DOCS_HOME"]
enabled_tools = ["search_*"]
disabled_tools = ["search_all"]
[mcp_servers.docs.env]
MODE = "fast"
[mcp_servers.remote]
url = "https://example.com/mcp"
bearer_token_env_var = "REMOTE_TOKEN"
[mcp_servers.old]
command = "old"
enabled = false
`;
    const found = await plan('config.toml', text);
    expect(found.problems).toEqual([]);
    expect(endpointsOf(found)).toEqual({
      docs: {
        transport: 'stdio',
        command: 'docs-server',
        args: ['--quiet'],
        env: { MODE: 'fast', DOCS_HOME: 'env:DOCS_HOME' },
      },
      remote: {
        transport: 'http',
        uri: 'https://example.com/mcp',
        headers: { Authorization: 'Bearer env:REMOTE_TOKEN' },
      },
      old: undefined,
    });
    expect(found.servers.map(({ action }) => action)).toEqual(['add', 'add', 'off']);
    const tools = { include: ['search_*'], exclude: ['search_all'] };
    expect(found.servers[0]?.manifest).toMatchObject({ tools });
    expect(found.servers[0]?.manifest).not.toHaveProperty('capabilities');
  });

  it('are read from settings.json of Zed, in both of its shapes', async () => {
    const text = JSON.stringify({
      theme: 'dark',
      context_servers: {
        new: { source: 'custom', command: 'a', args: ['b'] },
        old: { command: { path: 'c', args: ['d'], env: { E: 'f' } } },
      },
    });
    expect(endpointsOf(await plan('settings.json', text))).toEqual({
      new: { transport: 'stdio', command: 'a', args: ['b'] },
      old: { transport: 'stdio', command: 'c', args: ['d'], env: { E: 'f' } },
    });
  });

  it('get valid names, each once', async () => {
    const server = { command: 'x' };
    const names = ['GitHub', 'github', 'Mein Server (Büro)', 'fabric', '文件'];
    const mcpServers = Object.fromEntries(names.map((name) => [name, server]));
    const { servers } = await plan('.mcp.json', JSON.stringify({ mcpServers }));
    expect(servers.map(({ name, agent_id }) => [name, agent_id])).toEqual([
      ['GitHub', 'github-2'],
      ['github', 'github'],
      ['Mein Server (Büro)', 'mein-server-buro'],
      ['fabric', 'fabric-mcp'],
      ['文件', 'agent'],
    ]);
    expect(toAgentId('x'.repeat(60))).toHaveLength(31);
  });

  it('may have unknown fields: each is a warning with its line', async () => {
    const text = `{
  "mcpServers": {
    "a": { "command": "x",
      "colour": "red",
      "autoApprove": ["y"]
    }
  },
  "more": {}
}`;
    const { warnings, problems, servers } = await plan('.mcp.json', text);
    expect(problems).toEqual([]);
    expect(warnings).toMatchObject([
      { file: '.mcp.json', line: 8, key: 'more' },
      { line: 4, key: 'mcpServers.a.colour', message: 'unknown field, left out' },
      { line: 5, key: 'mcpServers.a.autoApprove' },
    ]);
    expect(servers).toMatchObject([{ action: 'add' }]);
  });

  it.each([
    ['neither command nor url', '{"mcpServers": {\n"a": {"args": []}}}', 2, /neither "command"/],
    ['an unset variable', '{"mcpServers": {"a": {\n"command": "${NOPE}"}}}', 2, /NOPE is not set/],
    ['nested variables', '{"mcpServers": {"a": {\n"command": "${A:-${B}}"}}}', 2, /no variable/],
    ['another transport', '{"mcpServers": {"a": {"url": "http://x",\n"type": "ws"}}}', 2, /"ws"/],
    ['args that are a text', '{"mcpServers": {"a": {"command": "x",\n"args": "y"}}}', 2, /no list/],
    [
      'a secret among the arguments',
      '{"mcpServers": {"a": {"command": "x",\n"args": ["--key=${MY_KEY}"]}}}',
      2,
      /MY_KEY would be plain text/,
    ],
  ])('are refused with the line: %s', async (_, text, line, message) => {
    const { problems, servers } = await plan('.mcp.json', text, { env: { MY_KEY: 'x' } });
    expect(problems).toMatchObject([{ line, message: expect.stringMatching(message) }]);
    expect(servers[0]?.manifest).toBeUndefined();
  });

  it('keep secrets that stood in the file as text in files of their own', async () => {
    const env = { API_TOKEN: 'literal', TOKENIZER: 'bpe', EMPTY_KEY: '' };
    const text = JSON.stringify({ mcpServers: { a: { command: 'x', env } } });
    const found = await plan('claude_desktop_config.json', text);
    const file = join('/secrets', 'a', 'API_TOKEN');
    expect([...found.secrets]).toEqual([[file, 'literal']]);
    expect(endpointsOf(found).a?.env).toEqual({ ...env, API_TOKEN: `file:${file}` });
  });

  it('warn of secrets that stay in an address or an argument', async () => {
    const mcpServers = {
      a: { url: 'https://x.example/mcp?api_key=abc' },
      b: { command: 'x', args: ['--token=abc', '--mode=fast'] },
    };
    const { warnings } = await plan('.mcp.json', JSON.stringify({ mcpServers }));
    expect(warnings).toMatchObject([
      { key: 'mcpServers.a.url', message: expect.stringContaining('api_key') },
      { key: 'mcpServers.b.args[0]', message: expect.stringContaining('--token') },
    ]);
    expect(JSON.stringify(warnings)).not.toContain('abc');
  });

  it.each([['{}'], ['{"mcpServers": []}'], ['{"mcpServers": {"a": 1}}'], ['not json']])(
    'are not found in %s',
    async (text) => {
      await expect(plan('.mcp.json', text)).rejects.toMatchObject({
        details: { reason: 'config' },
      });
    },
  );
});

describe('variables', () => {
  const context = { env: { A: '${B}', B: 'b', MY_TOKEN: 't' }, projectFolder: undefined };

  it.each([
    ['x ${B} y', 'x b y'],
    ['${A}', '${B}'],
    ['$B', '$B'],
    ['$${B}', '${B}'],
    ['${NO:-}', ''],
    ['${env:B}', 'b'],
  ])('in a text: %s', (text, expanded) => {
    expect(expandText(text, context)).toEqual({ ok: true, text: expanded });
  });

  it.each([
    ['${MY_TOKEN}', 'env:MY_TOKEN'],
    ['Bearer ${MY_TOKEN}', 'Bearer env:MY_TOKEN'],
    ['${NO:-d}', 'd'],
    ['a ${B} c', 'a b c'],
    ['$${B}', '${B}'],
  ])('in a setting: %s', (text, expanded) => {
    expect(expandSetting(text, context)).toEqual({ ok: true, text: expanded });
  });

  it.each([['a ${MY_TOKEN} c'], ['${what ever}'], ['${workspaceFolder}']])(
    'refused: %s',
    (text) => {
      expect(expandSetting(text, context)).toMatchObject({ ok: false });
    },
  );

  it.each([
    ['GITHUB_PERSONAL_ACCESS_TOKEN', true],
    ['apiKey', true],
    ['OPENAI_API_KEY', true],
    ['DB_PASSWORD', true],
    ['Authorization', true],
    ['KEYBOARD', false],
    ['TOKENIZER', false],
  ])('hold a secret by their name: %s %s', (name, isSecret) => {
    expect(isSecretName(name)).toBe(isSecret);
  });
});
