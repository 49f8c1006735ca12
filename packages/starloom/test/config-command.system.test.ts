import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { runStarloom, scratch } from './run-starloom.ts';

const KEY = 'kX7mQ2vN9pR4tW8yB3cF';
const GATEWAY = `listen: {port: 8080}
registry: {kind: yaml, path: ./agents.yaml}
auth:
  psk:
    - {key_id: ci, key: env:CI_KEY, principal: ci}
`;
const AGENTS = `- agent_id: percy
  endpoint: {transport: http, uri: "https://node-1.internal/agents/percy"}
  capabilities: [{name: reason, streaming: true}]
  trust_tier: org
`;

async function starloom(
  args: string,
  files: Record<string, string> = {},
  env: Record<string, string> = {},
) {
  await using place = await scratch(files);
  return await runStarloom(args.split(' ').filter(Boolean), { cwd: place.folder, env });
}

describe.concurrent('starloom', () => {
  it('welcomes, names its commands and what to try next', async () => {
    const { code, stdout, stderr } = await starloom('');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/one fabric for every agent/);
    expect(stdout).toMatch(/config validate .*\n.*config show/);
    expect(stdout).toMatch(/Try next/);
  });

  it('says the same as data with --json', async () => {
    const { stdout } = await starloom('--json');
    const { name, commands } = JSON.parse(stdout);
    expect(name).toBe('starloom');
    expect(commands.map((command: { name: string }) => command.name)).toContain('config schema');
  });

  it('prints its version and its help on stdout', async () => {
    expect(await starloom('--version')).toEqual({ code: 0, stdout: '0.1.0\n', stderr: '' });
    const { code, stdout, stderr } = await starloom('config --help');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/Usage: starloom config/);
    expect(stdout).toMatch(/--json/);
  });

  it.each([
    ['confg', /unknown command 'confg' \(Did you mean config\?\)/],
    ['config valdate', /Did you mean validate\?/],
    ['config show --efective', /Did you mean --effective\?/],
    ['config schema gateway', /Allowed choices are starloom, agents, agent, agent-toml/],
    ['--config', /argument missing/],
  ])('answers the mistaken command line "%s" with a hint and exit code 64', async (args, hint) => {
    const { code, stdout, stderr } = await starloom(args);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr).toMatch(hint);
    expect(stderr).toMatch(/fix: see "starloom .*--help"/);
  });

  it('answers it as JSON on stderr with --json', async () => {
    const { code, stdout, stderr } = await starloom('config valdate --json');
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(JSON.parse(stderr)).toMatchObject({
      ok: false,
      error: { code: 'BAD_INPUT', details: { reason: 'usage' } },
      trace: null,
    });
  });

  it('shows the help of a group that was named alone, with exit code 64', async () => {
    const { code, stdout, stderr } = await starloom('config');
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr).toMatch(/Usage: starloom config/);
  });
});

describe.concurrent('starloom config validate', () => {
  it('finds nothing wrong where there is no file', async () => {
    const { code, stdout } = await starloom('config validate');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'built-in defaults: ok\n' });
  });

  it('checks the gateway file and the agents it names', async () => {
    const files = { 'starloom.yaml': GATEWAY, 'agents.yaml': AGENTS };
    const { code, stdout, stderr } = await starloom('config validate', files, { CI_KEY: KEY });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe('starloom.yaml: ok\nagents.yaml: ok\n');
  });

  it('shows each problem with place, key and fix, and exits 78', async () => {
    const files = {
      'starloom.yaml': 'listen:\n  host: localhost\n\n  prot: 1\nlimits: {depth: 0}\n',
    };
    const { code, stdout, stderr } = await starloom('config validate', files);
    expect({ code, stdout }).toEqual({ code: 78, stdout: 'starloom.yaml: 2 problems\n' });
    expect(stderr).toBe(
      [
        '  starloom.yaml:4:3  listen.prot  unknown key; did you mean "port"?',
        '    fix: rename it to "port"',
        '  starloom.yaml:5:17  limits.depth  expected a whole number from 1 to 100, got the number 0',
        '    fix: write a whole number from 1 to 100',
        '',
      ].join('\n'),
    );
  });

  it('checks the options of an agent by its protocol, and leaves those of packages alone', async () => {
    const agents = `${AGENTS}  tags: [x]
- agent_id: one
  endpoint:
    transport: process
    command: sh
    options:
      poolde: true
- agent_id: two
  endpoint: {transport: http, protocol: my-adapter, uri: "http://127.0.0.1:1", options: {any: 1}}
`;
    const files = { 'agents.yaml': agents };
    const { code, stderr } = await starloom('config validate', files);
    expect(code).toBe(78);
    expect(stderr).toBe(
      [
        '  agents.yaml:11:7  [1].endpoint.options.poolde  unknown key; did you mean "pooled"?',
        '    fix: rename it to "pooled"',
        '',
      ].join('\n'),
    );
    const up = await starloom('up --port 0', files);
    expect(up).toMatchObject({ code: 78, stdout: '' });
    expect(up.stderr).toContain('agents.yaml:11:7  [1].endpoint.options.poolde');
  });

  it.each([
    [
      'kind: etcd, endpoints: ["http://127.0.0.1:1"]',
      '1:18  registry.kind  The registry kind "etcd"',
    ],
    ['kind: package, package: no-such', '1:36  registry.package  The registry package no-such'],
  ])('refuses a registry that "up" cannot open: {%s}', async (registry, problem) => {
    const files = { 'starloom.yaml': `registry: {${registry}}\n` };
    const { code, stdout, stderr } = await starloom('config validate', files);
    expect({ code, stdout }).toEqual({ code: 78, stdout: 'starloom.yaml: 1 problem\n' });
    expect(stderr).toContain(`starloom.yaml:${problem}`);
    expect((await starloom('up --port 0', files)).code).not.toBe(0);
  });

  it('refuses to serve callers without keys beyond loopback, and exits 78', async () => {
    const files = { 'starloom.yaml': 'listen: {host: 0.0.0.0}\nauth: {anonymous: true}\n' };
    const up = await starloom('up --port 0', files);
    expect(up).toMatchObject({ code: 78, stdout: '' });
    expect(up.stderr).toContain('auth.anonymous');
    const flag = await starloom('up --port 0 --host 0.0.0.0', {
      'starloom.yaml': 'auth: {anonymous: true}\n',
    });
    expect(flag).toMatchObject({ code: 78, stdout: '' });
  });

  it('prints one object with --json, wherever --json stands', async () => {
    const files = {
      'starloom.yaml': 'registry: {kind: yaml}',
      'agents.yaml': `${AGENTS}- agent_id: Bad\n`,
    };
    for (const args of ['config validate --json', '--json config validate']) {
      const { code, stdout, stderr } = await starloom(args, files);
      expect({ code, stderr }).toEqual({ code: 78, stderr: '' });
      expect(JSON.parse(stdout)).toMatchObject({
        ok: false,
        files: [
          { file: 'starloom.yaml', ok: true, problems: [] },
          {
            file: 'agents.yaml',
            ok: false,
            problems: [
              { file: 'agents.yaml', line: 5, key: '[1].endpoint' },
              { file: 'agents.yaml', line: 5, key: '[1].agent_id' },
            ],
          },
        ],
      });
    }
  });

  it('checks the files it is given, each by its own schema', async () => {
    const files = {
      'one.yaml': 'listen: {port: 1}',
      'more-agents.yaml': AGENTS,
      'two.json': '{"mcp": 1}',
      'agent.json': '{"name": "a", "provider": {"kind": "scripted", "script": ["Hi."]}}',
      'agent.toml': '[security]\nplan = "lax"\n',
    };
    const { code, stdout } = await starloom(
      `config validate ${Object.keys(files).join(' ')}`,
      files,
    );
    expect(code).toBe(78);
    expect(stdout.trimEnd().split('\n')).toEqual([
      'one.yaml: ok',
      'more-agents.yaml: ok',
      'two.json: 1 problem',
      'agent.json: ok',
      'agent.toml: 1 problem',
    ]);
  });

  it('complains of an agents file that was named and is missing', async () => {
    const files = { 'starloom.yaml': 'registry: {kind: yaml, path: ./fleet.yaml}' };
    const { code, stdout, stderr } = await starloom('config validate', files);
    expect({ code, stdout }).toEqual({
      code: 78,
      stdout: 'starloom.yaml: ok\nfleet.yaml: 1 problem\n',
    });
    expect(stderr).toMatch(/no such file\n +fix: create it, or correct registry\.path/);
  });

  it('complains of a missing --config, and of a bad variable', async () => {
    const missing = await starloom('config validate --config nope.yaml');
    expect(missing).toMatchObject({ code: 78, stdout: 'nope.yaml: 1 problem\n' });
    expect(missing.stderr).toMatch(/no such file\n +fix: create it or pass --config/);
    const variable = await starloom('config validate', {}, { STARLOOM_LISTEN__PROT: '1' });
    expect(variable.code).toBe(78);
    expect(variable.stderr).toMatch(/\$STARLOOM_LISTEN__PROT {2}listen\.prot/);
  });

  it('looks secrets up, unless --no-secrets is given', async () => {
    const files = { 'starloom.yaml': GATEWAY, 'agents.yaml': AGENTS };
    const unset = await starloom('config validate', files);
    expect(unset.code).toBe(78);
    expect(unset.stderr).toMatch(
      /starloom\.yaml:5:25 {2}auth\.psk\[0\]\.key {2}the variable CI_KEY is not set/,
    );
    expect((await starloom('config validate --no-secrets', files)).code).toBe(0);
  });

  it('warns on stderr and still succeeds', async () => {
    const { code, stderr } = await starloom('config validate', { 'starloom.yml': 'listen: {}' });
    expect(code).toBe(0);
    expect(stderr).toMatch(/warning:\n {2}starloom\.yml {2}the file is not read/);
  });
});

describe.concurrent('names of agents that look alike', () => {
  it('are a warning of config validate', async () => {
    const entry = (id: string) => `- agent_id: ${id}\n  endpoint: {transport: stdio, command: x}\n`;
    const files = { 'agents.yaml': entry('files') + entry('fi1es') };
    const { code, stderr } = await starloom('config validate agents.yaml', files);
    expect(code).toBe(0);
    expect(stderr).toMatch(/these names look alike: files, fi1es/);
  });
});

describe.concurrent('starloom config show', () => {
  it('prints what the file sets, and nothing else', async () => {
    const { code, stdout, stderr } = await starloom('config show', { 'starloom.yaml': GATEWAY });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(
      [
        'listen:',
        '  port: 8080',
        'registry:',
        '  kind: yaml',
        '  path: ./agents.yaml',
        'auth:',
        '  psk:',
        '    - key_id: ci',
        '      key: env:CI_KEY',
        '      principal: ci',
        '',
      ].join('\n'),
    );
  });

  it('says on stderr that there is no file', async () => {
    const { code, stdout, stderr } = await starloom('config show');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{}\n' });
    expect(stderr).toMatch(/no starloom\.yaml here/);
  });

  it('prints every value with its origin when asked for the effective one', async () => {
    const env = { STARLOOM_LIMITS__DEPTH: '9', CI_KEY: KEY };
    const { code, stdout } = await starloom(
      'config show --effective',
      { 'starloom.yaml': GATEWAY },
      env,
    );
    expect(code).toBe(0);
    expect(stdout).toContain('host: 127.0.0.1 # default\n');
    expect(stdout).toContain('port: 8080 # starloom.yaml:1:16\n');
    expect(stdout).toContain('depth: 9 # $STARLOOM_LIMITS__DEPTH\n');
    expect(stdout).toContain('key: env:CI_KEY # starloom.yaml:5:25\n');
    expect(stdout).not.toContain(KEY);
  });

  it('prints value and origins as JSON', async () => {
    const { stdout } = await starloom(
      'config show --effective --json',
      { 'starloom.yaml': GATEWAY },
      { CI_KEY: KEY },
    );
    expect(stdout).not.toContain(KEY);
    expect(JSON.parse(stdout)).toMatchObject({
      file: 'starloom.yaml',
      value: { listen: { host: '127.0.0.1', port: 8080 }, auth: { psk: [{ key: 'env:CI_KEY' }] } },
      origins: {
        'listen.host': { kind: 'default' },
        'listen.port': { kind: 'file', file: 'starloom.yaml', line: 1, column: 16 },
      },
    });
    const { stdout: plain } = await starloom('config show --json', {
      'starloom.yaml': 'jobs: {kind: sqlite}',
    });
    expect(JSON.parse(plain)).toEqual({
      file: 'starloom.yaml',
      value: { jobs: { kind: 'sqlite' } },
    });
  });

  it('reports a bad file as the one error, for people and as JSON', async () => {
    const files = {
      'starloom.yaml': 'auth: {psk: [{key_id: a, key: hunter2hunter2hunter2, principal: b}]}',
    };
    const people = await starloom('config show', files);
    expect(people).toMatchObject({ code: 78, stdout: '' });
    expect(people.stderr).toMatch(/^error BAD_INPUT: the configuration has 1 problem\n/);
    expect(people.stderr).toMatch(/fix: write env:NAME or file:PATH in its place/);
    const program = await starloom('config show --json', files);
    expect(program).toMatchObject({ code: 78, stdout: '' });
    expect(JSON.parse(program.stderr)).toMatchObject({
      ok: false,
      error: {
        code: 'BAD_INPUT',
        details: { reason: 'config', problems: [{ key: 'auth.psk[0].key' }] },
      },
      trace: null,
    });
    expect(people.stderr + program.stderr).not.toContain('hunter2');
  });
});

describe.concurrent('starloom config schema', () => {
  it.each([
    ['config schema', '../../gateway/schemas/starloom.schema.json'],
    ['config schema starloom', '../../gateway/schemas/starloom.schema.json'],
    ['config schema agents', '../../core/schemas/agents.schema.json'],
    ['config schema agent', '../../runtime/schemas/agent.schema.json'],
    ['config schema agent-toml', '../../runtime/schemas/agent-toml.schema.json'],
  ])('prints the published schema: %s', async (args, path) => {
    const { code, stdout, stderr } = await starloom(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(await readFile(new URL(path, import.meta.url), 'utf8'));
  });
});
