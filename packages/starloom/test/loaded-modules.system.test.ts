import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { childEnvironment } from '@starloom/wire';
import { expect, it } from 'vitest';
import { type AgentWorld, agentWorld } from './agent-world.ts';
import { LAUNCHER, runNode } from './run-starloom.ts';

const TELLER = new URL('./tell-modules.ts', import.meta.url).href;
const AGENT = JSON.stringify({
  name: 'quick',
  provider: { kind: 'scripted', script: ['hello'] },
  plugins: [{ name: 'fs', config: { roots: ['.'] } }],
  mcp: { expose_tools: ['fs:read_file'] },
});
const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'raw', version: '0' },
};

it('an agent on stdio answers its first call without loading what it has no use for', async () => {
  await using world = await agentWorld(undefined, { 'agent.json': AGENT, 'a.txt': 'in the file' });
  const { answer, modules } = await callOnce(world);
  expect(answer).toContain('in the file');
  const packages = modules.flatMap((url) => packageOf(url) ?? []);
  expect(packages).toContain('@modelcontextprotocol/server');
  const unused = ['undici', 'yaml', 'smol-toml', 'hono', '@modelcontextprotocol/node'];
  expect(unused.filter((name) => packages.includes(name))).toEqual([]);
  const parts = ['node:http', '/packages/gateway/', '/packages/adapters/'];
  expect(parts.filter((part) => modules.some((url) => url.includes(part)))).toEqual([]);
  const identity = modules.filter((url) => url.includes('/packages/identity/'));
  expect(identity).toEqual([expect.stringContaining('/chained-log.')]);
});

it('help and a call load their own files and packages alone', async () => {
  await using world = await agentWorld();
  const help = await modulesOf(world, '--help');
  expect(help.filter((url) => /\/packages\/(?!starloom\/)|\/src\/commands\//.test(url))).toEqual(
    [],
  );
  const call = await modulesOf(world, 'call', 'percy', 'reason');
  const commands = call.flatMap((url) => /\/src\/commands\/([a-z]+)/.exec(url)?.[1] ?? []);
  expect([...new Set(commands)].toSorted()).toEqual(['call', 'target']);
  const parts = call.flatMap((url) => /\/packages\/([a-z-]+)\/src\//.exec(url)?.[1] ?? []);
  const unused = ['adapters', 'coordination', 'gateway', 'identity', 'registry', 'runtime'];
  expect(unused.filter((part) => parts.includes(part))).toEqual([]);
  const shared = call.flatMap((url) => /\/(?:wire|config)\/src\/(.+)\.ts/.exec(url)?.[1] ?? []);
  expect(shared.toSorted()).toEqual(['environment', 'own-file', 'problem']);
});

async function modulesOf({ folder, env }: AgentWorld, ...args: string[]): Promise<string[]> {
  const run = await runNode(['--import', TELLER, LAUNCHER, ...args], { cwd: folder, env });
  return toModules(run.stderr);
}

function toModules(log: string): string[] {
  return JSON.parse(log.trimEnd().split('\n').at(-1) ?? '[]');
}

async function callOnce({ folder, env: extra }: AgentWorld) {
  const args = ['--import', TELLER, LAUNCHER, 'agent', 'run', '--mcp', 'stdio'];
  const env = childEnvironment({ extra });
  const child = spawn(process.execPath, args, { cwd: folder, env, timeout: 50_000 });
  const log = text(child.stderr);
  const say = (message: object) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  say({ id: 1, method: 'initialize', params: INITIALIZE });
  let answer = '';
  for await (const line of createInterface(child.stdout)) {
    answer = line;
    if (JSON.parse(line).id === 2) break;
    say({ method: 'notifications/initialized' });
    say({
      id: 2,
      method: 'tools/call',
      params: { name: 'fs.read_file', arguments: { path: 'a.txt' } },
    });
  }
  child.stdin.end();
  return { answer, modules: toModules(await log) };
}

function packageOf(url: string): string | undefined {
  return /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
}
