import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeWithEngine, emptyDatabase } from '@starloom/testkit';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { expect, it } from 'vitest';
import { agentWorld } from './agent-world.ts';
import { LAUNCHER } from './run-starloom.ts';
import { NODE_FILES, type RunningGateway, startGateway, startNode } from './running-gateway.ts';

const AGENT = JSON.stringify({
  name: 'served',
  provider: { kind: 'scripted', script: ['from the agent'] },
  plugins: [{ name: 'fs', config: { roots: ['.'] } }],
  mcp: { expose_tools: ['fs:read_file'] },
});

describeWithEngine('postgres', (postgres) => {
  it('[G18] gateways on one Postgres share agents, which commands add and agents register', async () => {
    const url = await emptyDatabase(postgres().url);
    const realm = randomBytes(32).toString('base64url');
    const config = `registry: { kind: postgres, url: "${url}" }\nrealm: { key: "file:./realm.key" }\n`;
    const files = {
      ...NODE_FILES,
      'starloom.yaml': config + NODE_FILES['starloom.yaml'],
      'realm.key': realm,
      'agents.yaml': undefined,
    };
    await using one = await startGateway(files);
    await using two = await startGateway(files);
    const json = async (gateway: RunningGateway, ...args: string[]) => {
      const { code, stdout, stderr } = await gateway.run(...args, '--json');
      expect(code, stderr).toBe(0);
      return JSON.parse(stdout);
    };
    const idsAt = async (gateway: RunningGateway) =>
      (await json(gateway, 'agents')).agents.map((agent: { agent_id: string }) => agent.agent_id);

    // An agent that registers at one gateway is called at the other.
    const { key } = JSON.parse(await readFile(join(one.home, 'client.json'), 'utf8'));
    await using world = await agentWorld(undefined, { 'agent.json': AGENT, 'notes.txt': 'milk' });
    const child = await spawnProcess({
      command: process.execPath,
      args: [
        LAUNCHER,
        'agent',
        'run',
        '--register',
        one.url,
        '--node',
        'n1',
        '--port',
        '0',
        '--json',
      ],
      cwd: world.folder,
      env: childEnvironment({ extra: { ...world.env, STARLOOM_KEY: key } }),
    });
    const { value } = await child.lines()[Symbol.asyncIterator]().next();
    expect(JSON.parse(value ?? child.stderrTail())).toMatchObject({ event: 'ready' });
    await expect.poll(() => idsAt(two), { timeout: 10_000 }).toEqual(['served']);
    const read = async () =>
      await two.run('call', 'served', 'fs:read_file', '--arg', 'path=notes.txt', '--json');
    await expect
      .poll(async () => (await read()).stdout, { timeout: 20_000, interval: 500 })
      .toContain('milk');
    await expect
      .poll(async () => (await json(two, 'agents', 'history', 'served')).entries, {
        timeout: 10_000,
      })
      .toContainEqual(expect.objectContaining({ node_id: 'n1', status: 'online' }));

    // An operator adds and removes at one gateway what the other one serves.
    const added = await two.run('agents', 'add', '--no-wait', 'remote', 'http://127.0.0.1:9/mcp');
    expect(added.code, added.stderr).toBe(0);
    await expect.poll(() => idsAt(one), { timeout: 10_000 }).toEqual(['remote', 'served']);
    expect((await one.run('agents', 'remove', 'remote', '--yes')).code).toBe(0);
    await expect.poll(() => idsAt(two), { timeout: 10_000 }).toEqual(['served']);
    const program = await one.run('agents', 'add', '--no-wait', 'files', '--', 'node', 'x.js');
    expect(program.stderr).toContain('registry.commands');

    // A node serves its agents at the gateways that it is connected to, and at no other.
    {
      await using node = await startNode([one.url]);
      await expect.poll(() => idsAt(two), { timeout: 10_000 }).toEqual(['echo', 'served']);
      const far = (await two.run('route', 'echo', 'say')).stderr;
      expect(far).toContain('Node "n1" is not connected to this gateway');
      expect((await two.run('call', 'echo', 'say', 'hi')).code).toBe(5);
      expect((await json(one, 'call', 'echo', 'say', 'hi')).result.answer).toBe('hi');
      node.signal('SIGTERM');
      expect((await node.exited).code).toBe(0);
    }
    {
      await using node = await startNode([one.url, two.url]);
      for (const gateway of [one, two]) {
        expect((await json(gateway, 'call', 'echo', 'say', 'hi')).attempts).toMatchObject([
          { node_id: 'n1', ok: true },
        ]);
      }
      node.signal('SIGTERM');
      expect((await node.exited).code).toBe(0);
    }
    await expect.poll(() => idsAt(two), { timeout: 10_000 }).toEqual(['served']);

    // It leaves when it ends.
    child.signal('SIGTERM');
    expect((await child.exited).code).toBe(0);
    await expect.poll(() => idsAt(two), { timeout: 10_000 }).toEqual([]);
  }, 120_000);
});
