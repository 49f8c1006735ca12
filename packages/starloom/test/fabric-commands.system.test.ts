import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LAUNCHER, runStarloom, scratch } from './run-starloom.ts';
import { AGENTS, type RunningGateway, startGateway } from './running-gateway.ts';

describe('commands that talk to a gateway', () => {
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
  });

  it('find it by client.json, which only its owner can read', async () => {
    const path = join(gateway.home, 'client.json');
    const { url, key, key_id } = JSON.parse(await readFile(path, 'utf8'));
    expect({ url, key_id }).toEqual({ url: gateway.url, key_id: 'local' });
    expect(key).toMatch(/^slk_/);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('list agents as a table and as JSON', async () => {
    const people = await gateway.run('agents');
    expect(people).toMatchObject({ code: 0 });
    expect(people.stdout).toMatch(/AGENT .*\necho .* say: Says what it is told/);
    const { stdout } = await gateway.run('agents', '--json');
    expect(JSON.parse(stdout).agents).toMatchObject([
      { agent_id: 'echo', capabilities: [{ name: 'say' }], health: { status: expect.any(String) } },
    ]);
    const none = await gateway.run('agents', '--tag', 'nowhere', '--json');
    expect(JSON.parse(none.stdout)).toEqual({ agents: [] });
    const described = await gateway.run('agents', 'describe', 'echo', '--json');
    expect(JSON.parse(described.stdout)).toMatchObject({ agent_id: 'echo', node_id: 'local' });
  });

  it.each([
    ['agent and capability', ['echo', 'say', 'good', 'morning']],
    ['both in one word', ['echo.say', 'good morning']],
    ['the capability alone', ['say', 'good morning']],
  ])('call an agent by %s', async (_, words) => {
    const { code, stdout, stderr } = await gateway.run('call', ...words);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'good morning\n' });
    expect(stderr).toMatch(/answered by echo .*trace [0-9a-f-]{36}/);
  });

  it('[G4] stream tokens to people and events to programs', async () => {
    const people = await gateway.run('call', 'echo', 'say', 'one two', '--stream');
    expect(people.stdout).toBe('one two \n');
    const { stdout } = await gateway.run('call', 'echo', 'say', 'one two', '--stream', '--json');
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.at(-1)).toMatchObject({ type: 'final', data: { answer: 'one two' } });
  });

  it.each([
    ['a failing agent', ['call', 'echo', 'say', 'fail'], 7, 'UPSTREAM_ERROR'],
    ['an unknown capability', ['call', 'echo', 'fly', 'high'], 4, 'CAPABILITY_NOT_FOUND'],
    ['a slow agent', ['call', 'echo', 'say', 'slow', '--timeout', '200'], 6, 'TIMEOUT'],
    ['a wrong filter', ['agents', '--tier', 'friend'], 2, 'BAD_INPUT'],
  ])('exit with the code of the table for %s', async (_, args, exit, code) => {
    const { code: status, stdout, stderr } = await gateway.run(...args, '--json');
    expect({ status, stdout }).toEqual({ status: exit, stdout: '' });
    expect(JSON.parse(stderr)).toMatchObject({
      ok: false,
      error: { code },
      trace: { trace_id: expect.any(String) },
    });
  });

  it('show the route and the health', async () => {
    const route = await gateway.run('route', 'echo', 'say', '--json');
    expect(JSON.parse(route.stdout)).toMatchObject({
      primary: { agent_id: 'echo' },
      fallbacks: [],
    });
    expect((await gateway.run('route', 'say')).stdout).toMatch(/1 +echo +primary/);
    const health = await gateway.run('health', '--json');
    expect(JSON.parse(health.stdout)).toMatchObject({
      gateway: { status: 'ok' },
      registry: { ok: true },
    });
    const shown = (await gateway.run('health')).stdout;
    expect(shown).toMatch(/gateway +ok/);
    expect(shown).toMatch(/coordination +ok +embedded/);
  });

  it('say so when the key is wrong or no gateway listens', async () => {
    const cwd = gateway.folder;
    const wrongKey = await runStarloom(['agents'], {
      cwd,
      env: { STARLOOM_HOME: gateway.home, STARLOOM_KEY: 'wrong' },
    });
    expect(wrongKey).toMatchObject({ code: 3, stdout: '' });
    expect(wrongKey.stderr).toMatch(/fix: /);
    const nobody = await runStarloom(['agents'], {
      cwd,
      env: { STARLOOM_HOME: '/nonexistent', STARLOOM_URL: 'http://127.0.0.1:9' },
    });
    expect(nobody).toMatchObject({ code: 69, stdout: '' });
    expect(nobody.stderr).toMatch(/^error GATEWAY_UNREACHABLE: .*starloom up/s);
  });

  it('[G17] see a changed agents.yaml without a restart, and nothing of a broken one', async () => {
    const file = join(gateway.folder, 'agents.yaml');
    const ids = async () =>
      JSON.parse((await gateway.run('agents', '--json')).stdout).agents.map(
        ({ agent_id }: { agent_id: string }) => agent_id,
      );
    await writeFile(`${file}.new`, AGENTS + AGENTS.replace('agent_id: echo', 'agent_id: twin'));
    await rename(`${file}.new`, file);
    await expect.poll(ids, { timeout: 15_000 }).toEqual(['echo', 'twin']);
    await writeFile(file, `${AGENTS}- agent_id: [broken`);
    const registryOk = async () =>
      JSON.parse((await gateway.run('health', '--json')).stdout).registry.ok;
    await expect.poll(registryOk, { timeout: 15_000 }).toBe(false);
    expect(await ids()).toEqual(['echo', 'twin']);
    await writeFile(file, AGENTS);
    await expect.poll(ids, { timeout: 15_000 }).toEqual(['echo']);
  });
});

describe('starloom up', () => {
  it('takes the agents.yaml it finds, without any other file', async () => {
    await using gateway = await startGateway();
    const { agents } = JSON.parse((await gateway.run('agents', '--json')).stdout);
    expect(agents.map(({ agent_id }: { agent_id: string }) => agent_id)).toEqual(['echo']);
  });

  it('finishes what is in flight on SIGTERM and exits 0', async () => {
    await using gateway = await startGateway();
    const calling = gateway.run('call', 'echo', 'say', 'slow', '--stream', '--json');
    await expect
      .poll(async () => JSON.stringify(await (await fetch(`${gateway.url}/metrics`)).text()))
      .toContain('starloom_inflight_calls 1');
    const { code } = await gateway.stop();
    expect(code).toBe(0);
    expect((await calling).stdout).toContain('"answer":"slow"');
  });

  it('keeps its key over a restart', async () => {
    await using place = await scratch({});
    const keys = [];
    for (let n = 0; n < 2; n += 1) {
      const home = join(place.folder, 'home');
      const child = await spawnProcess({
        command: process.execPath,
        args: [LAUNCHER, 'up', '--json', '--port', '0'],
        cwd: place.folder,
        env: childEnvironment({
          extra: { STARLOOM_HOME: home, STARLOOM_REGISTRY__PATH: 'a.yaml' },
        }),
      });
      await writeFile(join(place.folder, 'a.yaml'), '[]');
      for await (const _ of child.lines()) break;
      keys.push(JSON.parse(await readFile(join(home, 'client.json'), 'utf8')).key);
      await child.stop();
    }
    expect(keys[0]).toBe(keys[1]);
  });

  it('[G1][G34] serves MCP over stdio with local agent processes, in one command', async () => {
    await using place = await scratch({});
    const child = await spawnProcess({
      command: process.execPath,
      args: [LAUNCHER, 'up', '--stdio'],
      cwd: place.folder,
      env: childEnvironment({ extra: { STARLOOM_HOME: join(place.folder, 'home') } }),
    });
    const lines = child.lines()[Symbol.asyncIterator]();
    const ask = async (id: number, method: string, params: object) => {
      await child.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
      for (let line = await lines.next(); !line.done; line = await lines.next()) {
        const message = JSON.parse(line.value);
        if (message.id === id) return message.result;
      }
      throw new Error(child.stderrTail());
    };
    const clientInfo = { name: 'test', version: '0' };
    await ask(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    await child.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    const { tools } = await ask(2, 'tools/list', {});
    expect(tools.map(({ name }: { name: string }) => name)).toContain('percy.reason');
    const args = { agent_id: 'coder', capability: 'code', arguments: { source: 'const a = 1;\n' } };
    const { structuredContent } = await ask(3, 'tools/call', {
      name: 'fabric.call',
      arguments: args,
    });
    expect(structuredContent).toMatchObject({ ok: true, agent_id: 'coder' });
    child.stdin.end();
    expect(await child.exited).toMatchObject({ code: 0 });
    await child.stop();
  });

  it.each([
    [
      'a busy port',
      { config: (port: string) => `listen: {port: ${port}}\n` },
      2,
      /taken.*\n.*--port/,
    ],
    [
      'a missing agents.yaml',
      { config: () => 'registry: {kind: yaml, path: gone.yaml}\n' },
      78,
      /gone\.yaml/,
    ],
    [
      'callers without a key beyond loopback',
      { config: () => 'listen: {host: 0.0.0.0, port: 0}\nauth: {anonymous: true}\n' },
      78,
      /auth\.anonymous/,
    ],
    ['a bad configuration', { config: () => 'listen: {prot: 1}\n' }, 78, /did you mean "port"/],
  ])('says what is wrong with %s', async (_, { config }, exit, said) => {
    await using gateway = await startGateway();
    const { port } = new URL(gateway.url);
    await using place = await scratch({ 'starloom.yaml': config(port), 'agents.yaml': '[]' });
    const env = { STARLOOM_HOME: join(place.folder, 'home') };
    const { code, stdout, stderr } = await runStarloom(['up'], { cwd: place.folder, env });
    expect({ code, stdout }).toEqual({ code: exit, stdout: '' });
    expect(stderr).toMatch(said);
  });

  it('exits with 9 when its caller calls too often, and says when to call again', async () => {
    const limits = 'limits: {rate_per_principal: {calls: 1, seconds: 3600}}\n';
    await using gateway = await startGateway({ 'starloom.yaml': limits });
    expect((await gateway.run('call', 'echo', 'say', 'hello')).code).toBe(0);
    const { code, stderr } = await gateway.run('call', 'echo', 'say', 'hello', '--json');
    expect(code).toBe(9);
    const { error } = JSON.parse(stderr);
    expect(error).toMatchObject({ code: 'RATE_LIMITED', details: { limit: 1, window_s: 3600 } });
    expect(error.details.retry_after_ms).toBeGreaterThan(0);
  });

  it('says how to run beside another one of the same user', async () => {
    await using gateway = await startGateway();
    const env = { STARLOOM_HOME: gateway.home };
    const { code, stderr } = await runStarloom(['up', '--port', '0'], { cwd: gateway.folder, env });
    expect(code).toBe(2);
    expect(stderr).toMatch(/another starloom(.|\n)*STARLOOM_HOME/i);
  });

  it('says that the state folder cannot be written', async () => {
    await using place = await scratch({
      'starloom.yaml': 'listen: {port: 0}\n',
      'agents.yaml': '[]',
      home: 'a file',
    });
    const env = { STARLOOM_HOME: join(place.folder, 'home') };
    const { code, stderr } = await runStarloom(['up'], { cwd: place.folder, env });
    expect(code).toBe(78);
    expect(stderr).toMatch(/state folder(.|\n)*STARLOOM_HOME/);
  });
});
