import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { agentWorld } from './agent-world.ts';
import { LAUNCHER } from './run-starloom.ts';

const AGENT = JSON.stringify({
  name: 'served',
  provider: { kind: 'scripted', script: ['from the agent'] },
  plugins: [{ name: 'fs', config: { roots: ['.'] } }],
  mcp: { expose_tools: ['ask', 'fs:read_file'] },
});

const SLOW_AGENT = JSON.stringify({
  name: 'slow',
  provider: { kind: 'scripted', script: ['never said'] },
  plugins: [{ name: './slow.mjs' }],
  mcp: { expose_tools: ['slow:wait'] },
});

/** Says that it has begun, and ends once the process was told to stop. */
const SLOW = `
import { writeFileSync } from 'node:fs';
const tool = {
  name: 'slow:wait',
  description: 'Waits for the end.',
  parameters: { type: 'object', properties: {} },
  execute: () => new Promise((resolve) => {
    process.once('SIGTERM', () => setTimeout(() => resolve('worth the wait'), 200));
    writeFileSync('started', '');
  }),
};
export default { name: 'slow', setup: () => ({ tools: [tool] }) };
`;

const servedWorld = () => agentWorld(undefined, { 'agent.json': AGENT, 'notes.txt': 'milk' });

async function useIt(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['ask', 'fs.read_file']);
  const read = await client.callTool({ name: 'fs.read_file', arguments: { path: 'notes.txt' } });
  expect(JSON.stringify(read.content)).toContain('milk');
  const asked = await client.callTool({ name: 'ask', arguments: { prompt: 'hello' } });
  expect(asked.content).toEqual([{ type: 'text', text: 'from the agent' }]);
}

describe('starloom agent run', () => {
  it('serves MCP over HTTP, says when it is ready, and ends well on SIGTERM', async () => {
    await using world = await servedWorld();
    const child = await spawnProcess({
      command: process.execPath,
      args: [LAUNCHER, 'agent', 'run', '--mcp', 'http', '--port', '0', '--json'],
      cwd: world.folder,
      env: childEnvironment({ extra: world.env }),
    });
    try {
      const { value } = await child.lines()[Symbol.asyncIterator]().next();
      const ready = JSON.parse(value ?? child.stderrTail());
      expect(ready).toMatchObject({ event: 'ready', pid: expect.any(Number) });
      const client = new Client({ name: 'test', version: '0' });
      await client.connect(new StreamableHTTPClientTransport(new URL(ready.url)));
      await useIt(client);
      await client.close();
      child.signal('SIGTERM');
      expect((await child.exited).code).toBe(0);
    } finally {
      await child.stop();
    }
  });

  it('answers what is in flight when SIGTERM comes', async () => {
    await using world = await agentWorld(undefined, { 'agent.json': SLOW_AGENT, 'slow.mjs': SLOW });
    const child = await spawnProcess({
      command: process.execPath,
      args: [LAUNCHER, 'agent', 'run', '--mcp', 'http', '--json'],
      cwd: world.folder,
      env: childEnvironment({ extra: world.env }),
    });
    try {
      const { value } = await child.lines()[Symbol.asyncIterator]().next();
      const client = new Client({ name: 'test', version: '0' });
      const url = new URL(JSON.parse(value ?? child.stderrTail()).url);
      await client.connect(new StreamableHTTPClientTransport(url));
      const answer = client.callTool({ name: 'slow.wait', arguments: {} });
      const started = join(world.folder, 'started');
      await expect.poll(() => existsSync(started), { timeout: 20_000 }).toBe(true);
      child.signal('SIGTERM');
      expect((await answer).content).toEqual([{ type: 'text', text: 'worth the wait' }]);
      expect((await child.exited).code).toBe(0);
    } finally {
      await child.stop();
    }
  });

  it('serves one client over stdio', async () => {
    await using world = await servedWorld();
    const client = new Client({ name: 'test', version: '0' });
    const args = [LAUNCHER, 'agent', 'run', '--mcp', 'stdio'];
    const env = { ...world.env, PATH: process.env.PATH ?? '' };
    const command = process.execPath;
    await client.connect(new StdioClientTransport({ command, args, cwd: world.folder, env }));
    await useIt(client);
    await client.close();
  });

  it('ends when its input does', async () => {
    await using world = await servedWorld();
    expect(await world.pipe([], 'run', '--mcp', 'stdio')).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });

  it.each([
    ['no face', ['run'], 64],
    ['an unknown transport', ['run', '--mcp', 'pigeon'], 64],
    ['a port over stdio', ['run', '--mcp', 'stdio', '--port', '1'], 64],
    ['no agent', ['run', 'none/agent.json', '--mcp', 'stdio'], 78],
  ])('refuses %s', async (_, args, code) => {
    await using world = await servedWorld();
    expect(await world.run(...args)).toMatchObject({ code, stdout: '' });
  });
});
