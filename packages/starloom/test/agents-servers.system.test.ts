import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { EVERYTHING, openWorld } from './agents-world.ts';
import { runStarloom, scratch } from './run-starloom.ts';
import { startGateway } from './running-gateway.ts';

const EVERY = ['every', '--', process.execPath, EVERYTHING, 'stdio'];

describe('starloom agents add, for a server', () => {
  it('writes a program with everything that was said about it, and says what to do next', async () => {
    await using world = await openWorld();
    const options = [
      ...['--tag', 'a', '--tag', 'b', '--tier', 'partner', '--env', 'KEY=env:MY_KEY'],
      ...['--include', 'read_*', '--include', 'list', '--exclude', 'read_all'],
    ];
    const { code, stdout, stderr } = await world.run(
      ...['agents', 'add', 'files', ...options],
      ...['--', 'npx', '-y', 'server-files', '--root', '.'],
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(/files is in agents\.yaml \(new\)\n(.|\n)*starloom up/);
    expect(await world.agents()).toBe(`- agent_id: files
  endpoint:
    transport: stdio
    command: npx
    args: ["-y", server-files, "--root", "."]
    env:
      KEY: "env:MY_KEY"
  tools:
    include: ["read_*", list]
    exclude: [read_all]
  trust_tier: partner
  tags: [a, b]
`);
  });

  it('takes an address, and names it by its host', async () => {
    await using world = await openWorld();
    const header = ['--header', 'Authorization: Bearer env:LINEAR_KEY'];
    const { stdout } = await world.run(
      ...['agents', 'add', 'https://mcp.linear.app/mcp', ...header, '--json'],
    );
    expect(JSON.parse(stdout)).toMatchObject({
      file: 'agents.yaml',
      agent: {
        agent_id: 'linear',
        trust_tier: 'org',
        endpoint: {
          transport: 'http',
          uri: 'https://mcp.linear.app/mcp',
          headers: { Authorization: 'Bearer env:LINEAR_KEY' },
        },
      },
    });
    await world.run('agents', 'add', 'http://127.0.0.1:9000/mcp', '--name', 'mine');
    await world.run('agents', 'add', 'yours', 'http://127.0.0.1:9001/mcp');
    expect(await world.agents()).toMatch(/agent_id: linear(.|\n)*agent_id: mine/);
    expect(await world.agents()).toMatch(/agent_id: yours\n.*\n.*http\n *uri: "?http:..127/);
  });

  it('shows what it would write, and writes nothing, with --dry-run', async () => {
    await using world = await openWorld();
    const { code, stdout } = await world.run('agents', 'add', '--dry-run', ...EVERY);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^- agent_id: every\n/);
    expect(await readdir(world.folder)).toEqual([]);
  });

  it('warns of a secret that would stand in the file', async () => {
    await using world = await openWorld();
    const { stderr } = await world.run('agents', 'add', 'x', '--env', 'API_KEY=abc', '--', 'y');
    expect(stderr).toMatch(/warning: the value of API_KEY(.|\n)*--env API_KEY=env:API_KEY/);
  });

  it.each([
    ['a name that is no id', ['My Files', '--', 'x'], 2, 'my-files'],
    ['a reserved name', ['fabric', '--', 'x'], 2, 'fabric-mcp'],
    ['no name', ['--', 'npx', '-y', 'x'], 64, 'agents add <name> -- npx -y x'],
    ['no "--"', ['files', 'npx', '-y', 'x'], 64, 'write \\"--\\" before the command'],
    ['something that is not there', ['nowhere'], 2, 'agents add nowhere --'],
    ['a program', ['server.py'], 2, '-- python3 server.py'],
    ['a header for a program', ['x', '--header', 'a=b', '--', 'y'], 64, '--help'],
    ['a broken variable', ['x', '--env', 'novalue', '--', 'y'], 64, '--help'],
    ['an unknown tier', ['x', '--tier', 'best', '--', 'y'], 64, '--help'],
    ['a name that is taken', ['taken', '--', 'y'], 2, '--force'],
    ['a name that looks like another', ['ta-ken', '--', 'y'], 2, 'choose another name'],
    ['a name that looks like one of ours', ['1ock', '--', 'y'], 2, 'choose another name'],
  ])('refuses %s with its fix, and changes nothing', async (_, args, code, fix) => {
    const before = '- agent_id: taken\n  endpoint: {transport: stdio, command: x}\n';
    await using world = await openWorld({ 'agents.yaml': before, 'server.py': '' });
    const refused = await world.run('agents', 'add', '--json', ...args);
    expect(refused).toMatchObject({ code, stdout: '' });
    expect(refused.stderr).toContain(fix);
    expect(await world.agents()).toBe(before);
  });

  it('replaces an agent with --force', async () => {
    await using world = await openWorld();
    await world.run('agents', 'add', 'one', '--', 'before');
    expect((await world.run('agents', 'add', '--force', 'one', '--', 'after')).code).toBe(0);
    expect(await world.agents()).toMatch(/^- agent_id: one\n(.|\n)*command: after/);
    expect(await world.agents()).not.toContain('before');
  });
});

describe('agents of a gateway that runs', () => {
  it('are added with their tools shown, called by their listed names, and removed', async () => {
    await using gateway = await startGateway();
    const added = await gateway.run('agents', 'add', ...EVERY);
    expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/TOOL(.|\n)*\necho /) });
    expect(added.stderr).toContain('starloom call every');
    const tools = JSON.parse((await gateway.run('agents', 'tools', 'every', '--json')).stdout);
    expect(tools.tools).toContainEqual(
      expect.objectContaining({ name: 'echo', description: expect.any(String) }),
    );
    for (const words of [['every', 'echo'], ['every.echo'], ['every_echo']]) {
      const called = await gateway.run('call', ...words, '--arg', 'message=hello');
      expect(called).toMatchObject({ code: 0, stdout: expect.stringContaining('hello') });
    }
    expect((await gateway.run('agents', 'remove', 'every')).code).toBe(0);
    expect((await gateway.run('agents', '--json')).stdout).not.toContain('"agent_id":"every"');
  });

  it('may be reached by an address, with a header', async () => {
    await using other = await startGateway();
    await using gateway = await startGateway();
    const { key } = JSON.parse(await readFile(join(other.home, 'client.json'), 'utf8'));
    const url = `${other.url}/mcp`;
    const denied = await gateway.run('agents', 'add', url, '--name', 'other');
    expect(denied).toMatchObject({ code: 5, stderr: expect.stringMatching(/is degraded: .*\n/) });
    const header = ['--header', `Authorization=Bearer ${key}`];
    const added = await gateway.run('agents', 'add', url, '--name', 'other', ...header);
    expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/echo[._]say/) });
    const [tool = ''] = /echo[._]say/.exec(added.stdout) ?? [];
    const called = await gateway.run('call', 'other', tool, '--arg', 'task=hello');
    expect(called).toMatchObject({ code: 0, stdout: expect.stringContaining('hello') });
  });

  it('say precisely why they cannot be reached', async () => {
    await using gateway = await startGateway();
    const script = 'console.error("cannot open the database"); process.exit(3)';
    const failed = await gateway.run('agents', 'add', 'bad', '--', process.execPath, '-e', script);
    expect(failed.code).toBe(5);
    expect(failed.stderr).toMatch(/"bad" was added, but is offline(.|\n)*cannot open the database/);
    expect(failed.stderr).toMatch(/fix: .*agents remove bad/);
    const health = await gateway.run('health');
    expect(health.stdout).toMatch(/bad: (.|\n)*cannot open the database/);
    const called = await gateway.run('call', 'bad', 'anything');
    expect(called.stderr).toContain('cannot open the database');
    const gone = await gateway.run('agents', 'add', 'gone', 'http://127.0.0.1:1/mcp');
    expect(gone.stderr).toContain('The agent is unreachable: nothing listens at its address');
  });

  it('are served beside the samples at once, added from any folder', async () => {
    await using gateway = await startGateway({ 'agents.yaml': undefined });
    await using elsewhere = await scratch({});
    const env = { STARLOOM_HOME: gateway.home };
    const options = { cwd: elsewhere.folder, env };
    const script = fileURLToPath(new URL('./fixtures/where.cjs', import.meta.url));
    const words = ['agents', 'add', 'where', '--', process.execPath, script];
    const added = await runStarloom(words, options);
    expect(added.code).toBe(0);
    expect(added.stderr).toContain(join(gateway.folder, 'agents.yaml'));
    expect(added.stderr).toContain('up --samples');
    expect(await readdir(elsewhere.folder)).toEqual([]);
    const { stdout } = await runStarloom(['call', 'where', 'cwd'], options);
    expect(stdout.trim()).toMatch(new RegExp(`${elsewhere.folder}$`));
    const { agents } = JSON.parse((await runStarloom(['agents', '--json'], options)).stdout);
    const ids = agents.map(({ agent_id }: { agent_id: string }) => agent_id);
    expect(ids).toEqual(expect.arrayContaining(['where', 'percy', 'flaky']));
  });

  it('are not waited for where the gateway reads another file', async () => {
    await using gateway = await startGateway();
    await using elsewhere = await scratch({ 'agents.yaml': '[]\n' });
    const env = { STARLOOM_HOME: gateway.home };
    const { code, stderr } = await runStarloom(['agents', 'add', 'x', '--', 'y'], {
      cwd: elsewhere.folder,
      env,
    });
    expect(code).toBe(0);
    expect(stderr).toMatch(/gateway that runs here reads .*agents\.yaml, not this file/);
    expect(await readFile(join(elsewhere.folder, 'agents.yaml'), 'utf8')).toContain('agent_id: x');
  });
});
