import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listKeys } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { runStarloom, scratch } from './run-starloom.ts';
import { startGateway } from './running-gateway.ts';

const agentFile = (change: object = {}) =>
  JSON.stringify({
    name: 'note-taker',
    version: '1.2.0',
    description: 'Keeps notes',
    provider: { kind: 'scripted', script: ['noted'] },
    plugins: [{ name: 'fs', config: { roots: ['.'] } }],
    mcp: { expose_tools: ['ask', 'fs:read_file', 'fs:list'], private_tools: ['fs.list'] },
    ...change,
  });

const FILES = { 'notes/agent.json': agentFile(), 'notes/today.txt': 'milk' };

const ENTRY = `- agent_id: note-taker
  version: "1.2.0"
  description: Keeps notes
  endpoint:
    transport: stdio
    command: starloom
    args: [agent, run, "./notes", "--mcp", stdio]
  capabilities:
    - name: ask
      streaming: true
    - name: "fs:read_file"
      tool: fs.read_file
  trust_tier: local
`;

async function addIn(files: Record<string, string>) {
  const place = await scratch({ ...FILES, ...files });
  const cwd = place.folder;
  const env = { STARLOOM_HOME: join(cwd, 'home') };
  return {
    ...place,
    add: (...args: string[]) => runStarloom(['agents', 'add', ...args], { cwd, env }),
    remove: (agent: string) => runStarloom(['agents', 'remove', agent, '--yes'], { cwd, env }),
    agents: () => readFile(join(cwd, 'agents.yaml'), 'utf8'),
    write: (name: string, text: string) => writeFile(join(cwd, name), text),
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

const OTHER_REGISTRY = { 'starloom.yaml': 'registry: {kind: package, package: x}' };

describe('starloom agents add', () => {
  it('refuses options that the protocol of the agent does not have, in the file and in the entry', async () => {
    const wrong = '- agent_id: a\n  endpoint: {transport: stdio, command: sh, options: {cdw: /}}\n';
    await using world = await addIn({ 'agents.yaml': wrong, 'sub/starloom.yaml': '{}\n' });
    const added = await world.add('notes');
    expect(added).toMatchObject({ code: 78, stdout: '' });
    expect(added.stderr).toMatch(/agents\.yaml:2:\d+ {2}\[0\]\.endpoint\.options\.cdw .*"cwd"/);
    const elsewhere = ['--protocol', 'http', '-c', 'sub/starloom.yaml', '--', 'sh'];
    const entry = await world.add('b', '--capability', 'c', ...elsewhere);
    expect(entry).toMatchObject({ code: 2, stdout: '' });
    expect(entry.stderr).toMatch(/agent "b": \[0\]\.endpoint\.options\.cwd unknown key/);
    expect(await world.agents()).toBe(wrong);
  });

  it('puts an agent behind a gateway that runs: what it exposes can be called at once', async () => {
    await using gateway = await startGateway(FILES);
    const { code, stdout } = await gateway.run('agents', 'add', 'notes', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      file: 'agents.yaml',
      agent: { agent_id: 'note-taker', capabilities: [{ name: 'ask' }, { name: 'fs:read_file' }] },
    });
    const listed = async () => (await gateway.run('agents', '--json')).stdout;
    await expect.poll(listed, { timeout: 30_000 }).toContain('note-taker');
    const read = await gateway.run('call', 'note-taker', 'fs.read_file', '--arg', 'path=today.txt');
    expect(read).toMatchObject({ code: 0, stdout: 'milk\n' });
    const ask = await gateway.run('call', 'note-taker', 'ask', '--arg', 'prompt=Note this');
    expect(ask).toMatchObject({ code: 0, stdout: 'noted\n' });
    const hidden = await gateway.run('call', 'note-taker', 'fs:list');
    expect(hidden.code).toBe(4);
  });

  it('writes one short entry, makes the file if there is none, and says what to do next', async () => {
    await using world = await addIn({});
    const { code, stdout, stderr } = await world.add('notes/');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toContain('starloom up');
    expect(await world.agents()).toBe(ENTRY);
  });

  it('brings an entry up to date, and keeps what people wrote into it', async () => {
    await using world = await addIn({
      'agents.yaml': `# ours\n${ENTRY.replace('streaming: true', 'timeout_ms: 5')}  tags: [mine]\n`,
    });
    const mcp = { expose_tools: ['ask', 'fs:search'] };
    await world.write('notes/agent.json', agentFile({ version: '2.0.0', mcp }));
    expect((await world.add('notes')).code).toBe(0);
    const text = await world.agents();
    expect(text).toMatch(/^# ours\n- agent_id: note-taker\n {2}version: "2\.0\.0"\n/);
    for (const kept of ['timeout_ms: 5', 'tags: [mine]', 'fs:search']) expect(text).toContain(kept);
    expect(text).not.toContain('fs:read_file');
  });

  it('gives it another name where one is asked for', async () => {
    await using world = await addIn({});
    await world.add('notes', '--name', 'scribe');
    expect(await world.agents()).toContain('- agent_id: scribe\n');
  });

  it.each([
    ['an agent that exposes nothing', { 'notes/agent.json': agentFile({ mcp: {} }) }, 2],
    ['a name that is no id', { 'notes/agent.json': agentFile({ name: 'Note Taker' }) }, 2],
    ['a name that is reserved', { 'notes/agent.json': agentFile({ name: 'fabric' }) }, 2],
    ['a broken agent.json', { 'notes/agent.json': '{"name": 1}' }, 78],
    ['an id that another agent has', { 'agents.yaml': ENTRY.replace('./notes', './other') }, 2],
    ['a registry that is no file while no gateway runs', OTHER_REGISTRY, 69],
    ['a broken agents.yaml', { 'agents.yaml': '- agent_id: 5\n' }, 78],
  ])(
    'refuses %s with its fix, and changes nothing',
    async (_, files: Record<string, string>, code) => {
      await using world = await addIn(files);
      const refused = await world.add('notes', '--json');
      expect(refused).toMatchObject({ code, stdout: '' });
      expect(refused.stderr).toContain('"fix"');
      const after = await world.agents().catch(() => undefined);
      expect(after).toBe(files['agents.yaml']);
    },
  );

  it('makes a key for an agent that calls back: bound to it, for a program in a file of its owner', async () => {
    await using world = await addIn({});
    const home = join(world.folder, 'home');
    const add = (...args: string[]) =>
      world.add('--json', '--callback-key', 'agent:files', ...args);
    const program = await add('echo', '--', 'node', 'echo.js');
    const secret = join(home, 'secrets', 'echo', 'STARLOOM_KEY');
    expect(JSON.parse(program.stdout)).toMatchObject({
      agent: {
        auth: { principal: 'agent:echo' },
        endpoint: { env: { STARLOOM_KEY: `file:${secret}` } },
      },
    });
    expect((await stat(secret)).mode & 0o777).toBe(0o600);
    expect(program.stdout).not.toContain(await readFile(secret, 'utf8'));
    const remote = await add('http://127.0.0.1:9/mcp', '--name', 'far', '--protocol', 'mcp');
    const { callback_key } = JSON.parse(remote.stdout);
    expect(callback_key).toMatch(/^\S{40,}$/);
    expect(await world.agents()).not.toContain(callback_key);
    expect((await world.remove('far')).code).toBe(0);
    const keys = await listKeys(join(home, 'identity'));
    expect(keys).toMatchObject([
      { principal: 'agent:echo', scopes: ['agent:files'], tier: 'org', revoked_at: null },
      { principal: 'agent:far', scopes: ['agent:files'], revoked_at: expect.any(String) },
    ]);
  });
});
