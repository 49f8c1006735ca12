// The real command in a process of its own and in a folder of its own. Nothing cleans up after it
// but itself: a test sees what it leaves behind.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ManifestInput } from '@starloom/core';
import { type TemporaryFolder, temporaryFolder } from '@starloom/testkit';
import { childEnvironment } from '@starloom/wire';

export const LAUNCHER = fileURLToPath(
  new URL('../../packages/starloom/bin/starloom.js', import.meta.url),
);

/** Hang guards, not measures. */
const START_MS = 30_000;
const STOP_MS = 30_000;

export interface GatewayWorld {
  readonly agents: readonly ManifestInput[];
  /** Sections of `starloom.yaml`. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Variables of its environment, such as keys that `starloom.yaml` names. */
  readonly env?: Readonly<Record<string, string>>;
  /** A free one by default; where the configuration must name it, another one. */
  readonly port?: number;
  /** The program to start; the launcher of the checkout by default. */
  readonly command?: string | undefined;
}

export interface RunningGateway extends AsyncDisposable {
  /** Of its MCP endpoint. */
  readonly url: string;
  readonly key: string;
  readonly pid: number;
  /** Of its `agents.yaml` and `starloom.yaml`. */
  readonly folder: string;
  /** Lines that it wrote to stderr. */
  readonly log: readonly string[];
  /** Asks it to end; its exit code, or null when it had to be killed. */
  stop(): Promise<number | null>;
}

export async function startGateway(world: GatewayWorld): Promise<RunningGateway> {
  const folder = await writeWorld(world);
  return await startGatewayIn(folder, world.env, world.port, [], world.command);
}

/** In a folder that `writeWorld` made, and that is removed with the gateway. */
export async function startGatewayIn(
  folder: TemporaryFolder,
  env: GatewayWorld['env'] = {},
  port = 0,
  args: readonly string[] = [],
  command = LAUNCHER,
): Promise<RunningGateway> {
  const child = spawn(process.execPath, [command, 'up', '--json', '--port', `${port}`, ...args], {
    cwd: folder.path,
    env: { ...worldEnvironment(folder.path), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line));
  const stop = () => stopChild(child);
  const dispose = async () => {
    await stop();
    await folder[Symbol.asyncDispose]();
  };
  try {
    const ready = await firstLine(child);
    const { url, pid } = JSON.parse(ready) as { url: string; pid: number };
    const client = await readFile(join(folder.path, 'state', 'client.json'), 'utf8');
    const { key } = JSON.parse(client) as { key: string };
    const about = { url: `${url}/mcp`, key, pid, folder: folder.path, log };
    return { ...about, stop, [Symbol.asyncDispose]: dispose };
  } catch (cause) {
    await dispose();
    throw new Error(`the gateway did not start:\n${log.slice(-20).join('\n')}`, { cause });
  }
}

/** A folder with `starloom.yaml` and `agents.yaml`; state goes below it, too. */
export async function writeWorld({ agents, config = {} }: GatewayWorld): Promise<TemporaryFolder> {
  const folder = await temporaryFolder();
  await writeFile(join(folder.path, 'starloom.yaml'), JSON.stringify(config));
  await writeAgents(folder.path, agents);
  return folder;
}

/** Replaces `agents.yaml`; a gateway that runs in the folder reads it again. */
export async function writeAgents(folder: string, agents: readonly ManifestInput[]): Promise<void> {
  await writeFile(join(folder, 'agents.yaml'), JSON.stringify(agents));
}

export function worldEnvironment(folder: string): Readonly<Record<string, string>> {
  return childEnvironment({ extra: { STARLOOM_HOME: join(folder, 'state') } });
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('no standard output');
  const lines = createInterface({ input: stdout });
  const signal = AbortSignal.timeout(START_MS);
  const ended = once(lines, 'close', { signal }).then((): never => {
    throw new Error('it ended');
  });
  const [line] = (await Promise.race([once(lines, 'line', { signal }), ended])) as [string];
  stdout.resume();
  return line;
}

async function stopChild(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = once(child, 'exit') as Promise<[number | null]>;
  child.kill('SIGTERM');
  const killer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  const [code] = await exited;
  clearTimeout(killer);
  return code;
}
