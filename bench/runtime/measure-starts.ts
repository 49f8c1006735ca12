// From the start of the process to the answer to its first `tools/call`, as an MCP client sees it,
// beside a Node that does nothing at all. The first start fills the cache of compiled code.

import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '@starloom/testkit';
import { childEnvironment } from '@starloom/wire';
import { Child } from '../child.ts';
import type { CommandContext } from '../command.ts';

export interface StartOptions {
  /** That count. */
  readonly starts: number;
}

/** One value a round. */
export interface MeasuredStarts {
  readonly firstMs: number;
  readonly starloomMs: readonly number[];
  readonly nodeMs: readonly number[];
}

const LAUNCHER = fileURLToPath(new URL('../../packages/starloom/bin/starloom.js', import.meta.url));
const PATIENCE_MS = 60_000;
const NOTE = { name: 'harbour.txt', text: 'Aurora, Halcyon' };
const CALL = { name: 'fs.read_file', arguments: { path: NOTE.name } };
const AGENT = {
  name: 'bench',
  provider: { kind: 'scripted', script: ['nothing to say'] },
  plugins: [{ name: 'fs', config: { roots: ['.'] } }],
  mcp: { expose_tools: ['fs:read_file'] },
};

export async function measureStarts(
  { starts }: StartOptions,
  { signal, tell }: CommandContext,
): Promise<MeasuredStarts> {
  tell(`${starts} starts of an agent`);
  await using folder = await temporaryFolder();
  await mkdir(join(folder.path, 'agent'));
  await writeFile(join(folder.path, 'agent', 'agent.json'), JSON.stringify(AGENT));
  await writeFile(join(folder.path, 'agent', NOTE.name), NOTE.text);
  const firstMs = await startAgent(folder.path, signal);
  const starloomMs: number[] = [];
  const nodeMs: number[] = [];
  for (let round = 0; round < starts; round += 1) {
    nodeMs.push(await startNode(signal));
    starloomMs.push(await startAgent(folder.path, signal));
  }
  return { firstMs, starloomMs, nodeMs };
}

async function startAgent(folder: string, signal: AbortSignal): Promise<number> {
  const env = childEnvironment({
    extra: { STARLOOM_HOME: join(folder, 'state'), XDG_CACHE_HOME: join(folder, 'cache') },
  });
  const args = [LAUNCHER, 'agent', 'run', join(folder, 'agent'), '--mcp', 'stdio'];
  const started = performance.now();
  await using child = await Child.start({ command: process.execPath, args, env });
  await child.send(request(1, 'initialize', INITIALIZE));
  await child.receive(PATIENCE_MS, signal);
  await child.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  await child.send(request(2, 'tools/call', CALL));
  assertAnswered(await child.receive(PATIENCE_MS, signal));
  return performance.now() - started;
}

async function startNode(signal: AbortSignal): Promise<number> {
  const started = performance.now();
  await promisify(execFile)(process.execPath, ['-e', '0'], { signal });
  return performance.now() - started;
}

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'starloom-bench', version: '0' },
};

function request(id: number, method: string, params: object): object {
  return { jsonrpc: '2.0', id, method, params };
}

function assertAnswered(message: unknown): void {
  const text = JSON.stringify(message);
  if (!text.includes(NOTE.text)) throw new Error(`a wrong answer: ${text}`);
}
