import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { type AgentWorld, agentWorld } from './agent-world.ts';
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

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2024-11-05',
    capabilities: {},
    clientInfo: { name: 'raw', version: '0' },
  },
};

/** Answers a little later, when nothing else keeps the process. */
const LATE = `
const tool = {
  name: 'slow:wait',
  description: 'Waits a little.',
  effect: 'read',
  parameters: { type: 'object', properties: {} },
  execute: () => new Promise((resolve) => setTimeout(resolve, 300, 'worth the wait').unref()),
};
export default { name: 'slow', setup: () => ({ tools: [tool] }) };
`;

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

interface Served extends AsyncDisposable {
  readonly url: string;
  /** Absent when the key was given. */
  readonly clientFile?: string;
  readonly child: Awaited<ReturnType<typeof spawnProcess>>;
  connect(key?: string): Promise<Client>;
}

/** `starloom agent run --mcp http`, ready. */
async function serve(world: AgentWorld, ...args: string[]): Promise<Served> {
  const child = await spawnProcess({
    command: process.execPath,
    args: [LAUNCHER, 'agent', 'run', '--mcp', 'http', '--json', ...args],
    cwd: world.folder,
    env: childEnvironment({ extra: world.env }),
  });
  const { value } = await child.lines()[Symbol.asyncIterator]().next();
  const ready = JSON.parse(value ?? child.stderrTail());
  expect(ready).toMatchObject({ event: 'ready', pid: expect.any(Number) });
  const { url, client_file: clientFile } = ready;
  return {
    url,
    clientFile,
    child,
    async connect(key) {
      const client = new Client({ name: 'test', version: '0' });
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
      const transport = new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers },
      });
      await client.connect(transport);
      return client;
    },
    [Symbol.asyncDispose]: async () => void (await child.stop()),
  };
}

async function keyOf({ clientFile = '', url }: Served): Promise<string> {
  const client = JSON.parse(await readFile(clientFile, 'utf8'));
  expect(client).toEqual({ url, key: expect.any(String), key_id: 'local' });
  return client.key;
}

describe('starloom agent run', () => {
  it('serves MCP over HTTP, says when it is ready, and ends well on SIGTERM', async () => {
    await using world = await servedWorld();
    await using served = await serve(world, '--port', '0');
    const client = await served.connect(await keyOf(served));
    await useIt(client);
    await client.close();
    served.child.signal('SIGTERM');
    expect((await served.child.exited).code).toBe(0);
  });

  it('answers what is in flight when SIGTERM comes', async () => {
    await using world = await agentWorld(undefined, { 'agent.json': SLOW_AGENT, 'slow.mjs': SLOW });
    await using served = await serve(world, '--anonymous');
    const client = await served.connect();
    const answer = client.callTool({ name: 'slow.wait', arguments: {} });
    const started = join(world.folder, 'started');
    await expect.poll(() => existsSync(started), { timeout: 20_000 }).toBe(true);
    served.child.signal('SIGTERM');
    expect((await answer).content).toEqual([{ type: 'text', text: 'worth the wait' }]);
    expect((await served.child.exited).code).toBe(0);
  });

  it('lets in over HTTP who has its key, which its owner alone can read and a restart keeps', async () => {
    await using world = await servedWorld();
    await using served = await serve(world);
    const key = await keyOf(served);
    expect((await stat(served.clientFile ?? '')).mode & 0o777).toBe(0o600);
    expect((await fetch(served.url, { method: 'POST' })).status).toBe(401);
    await expect(served.connect('wrong')).rejects.toThrow();
    await served.child.stop();
    await using again = await serve(world);
    expect(await keyOf(again)).toBe(key);
  });

  it('takes the key that it is given, and refuses a weak one', async () => {
    const key = 'a-key-that-is-long-enough-0123456789';
    await using world = await agentWorld(undefined, {
      'agent.json': AGENT,
      'notes.txt': 'milk',
      key,
      weak: 'secret',
    });
    await using served = await serve(world, '--key', 'file:key');
    expect(served.clientFile).toBeUndefined();
    const client = await served.connect(key);
    await useIt(client);
    await client.close();
    for (const reference of ['file:weak', 'env:NOT_SET', 'literal-key-0123456789']) {
      const { code } = await world.run('run', '--mcp', 'http', '--key', reference);
      expect(code).toBe(78);
    }
  });

  it('lets callers without a key in with --anonymous, and only on this machine', async () => {
    await using world = await servedWorld();
    await using served = await serve(world, '--anonymous');
    const client = await served.connect();
    await useIt(client);
    await client.close();
    await expect(served.connect('wrong')).rejects.toThrow();
    const open = await world.run('run', '--mcp', 'http', '--anonymous', '--host', '0.0.0.0');
    expect(open).toMatchObject({ code: 64, stdout: '' });
    expect(open.stderr).toMatch(/callers must show a key[\s\S]*fix: leave --anonymous out/);
  });

  it('listens at the host and port that are given', async () => {
    await using world = await servedWorld();
    await using served = await serve(world, '--host', '0.0.0.0');
    expect(served.url).toMatch(/^http:\/\/0\.0\.0\.0:\d+\/mcp$/);
    expect((await fetch(served.url, { method: 'POST' })).status).toBe(401);
    const client = await served.connect(await keyOf(served));
    expect((await client.listTools()).tools).toHaveLength(2);
    await client.close();
  });

  it('serves other agents over A2A, by a signed card and with its key', async () => {
    await using world = await servedWorld();
    const args = [LAUNCHER, 'agent', 'run', '--a2a', '--json'];
    const env = childEnvironment({ extra: world.env });
    const child = await spawnProcess({ command: process.execPath, args, cwd: world.folder, env });
    const { value } = await child.lines()[Symbol.asyncIterator]().next();
    const { url, client_file, card_key } = JSON.parse(value ?? child.stderrTail());
    const { key } = JSON.parse(await readFile(client_file, 'utf8'));
    expect(card_key).toMatchObject({ kty: 'OKP', x: expect.any(String) });
    const headers = { 'content-type': 'application/json', 'A2A-Version': '1.0' };
    const send = async (more: Record<string, string>) => {
      const parts = [{ text: 'hi' }];
      const body = JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', parts } });
      const init = { method: 'POST', headers: { ...headers, ...more }, body };
      return await fetch(`${url}/message:send`, init);
    };
    expect((await send({})).status).toBe(401);
    const answered = await send({ authorization: `Bearer ${key}` });
    expect(await answered.text()).toContain('from the agent');
    expect(await child.stop()).toMatchObject({ code: 0 });
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

  it('answers what was asked when its input ends, and exits well', async () => {
    await using world = await agentWorld(undefined, { 'agent.json': SLOW_AGENT, 'slow.mjs': LATE });
    const messages = [
      INITIALIZE,
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'slow.wait' } },
    ];
    const lines = messages.map((message) => JSON.stringify(message));
    const { code, stdout } = await world.pipe(lines, 'run', '--mcp', 'stdio');
    expect(code).toBe(0);
    const answers = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answers).toMatchObject([
      { id: 1 },
      { id: 2, result: { content: [{ type: 'text', text: 'worth the wait' }] } },
    ]);
  });

  it.each([
    ['no face', ['run'], 64],
    ['an unknown transport', ['run', '--mcp', 'pigeon'], 64],
    ['a port over stdio', ['run', '--mcp', 'stdio', '--port', '1'], 64],
    ['a key over stdio', ['run', '--mcp', 'stdio', '--key', 'env:KEY'], 64],
    ['no agent', ['run', 'none/agent.json', '--mcp', 'stdio'], 78],
  ])('refuses %s', async (_, args, code) => {
    await using world = await servedWorld();
    expect(await world.run(...args)).toMatchObject({ code, stdout: '' });
  });
});
