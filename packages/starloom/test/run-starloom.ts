import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export const LAUNCHER = fileURLToPath(new URL('../bin/starloom.js', import.meta.url));

const CACHE = fileURLToPath(new URL('../../../node_modules/.cache', import.meta.url));

/** A hang guard, not a measure. */
const TIMEOUT_MS = 30_000;

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The real command in a process of its own, with no variables but these. */
export async function runStarloom(
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<Run> {
  return await runNode([LAUNCHER, ...args], options);
}

export async function runNode(
  args: readonly string[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<Run> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH: process.env.PATH, XDG_CACHE_HOME: CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  });
  const [[code], stdout, stderr] = await Promise.all([
    once(child, 'close') as Promise<[number | null]>,
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code, stdout, stderr };
}

/** A folder of its own with these files in it; gone when the test ends. */
export async function scratch(
  files: Readonly<Record<string, string>>,
): Promise<AsyncDisposable & { readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'starloom-cli-'));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content, { mode: 0o700 });
  }
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}
