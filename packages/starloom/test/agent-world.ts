import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { childEnvironment } from '@starloom/wire';
import { LAUNCHER, type Run, runStarloom, scratch } from './run-starloom.ts';

/** A hang guard, not a measure. */
const TIMEOUT_MS = 30_000;

export const WRITE = {
  type: 'tool_call',
  toolCall: { name: 'fs:write_file', args: { path: 'made.txt', content: 'made' } },
} as const;

export interface AgentWorld extends AsyncDisposable {
  readonly folder: string;
  /** `starloom agent …` without a terminal. */
  run(...args: string[]): Promise<Run>;
  /** The same with these lines as its input. */
  pipe(lines: readonly string[], ...args: string[]): Promise<Run>;
  readonly env: Record<string, string>;
}

/** A folder with an agent whose model says what the script says. */
export async function agentWorld(
  script?: readonly unknown[],
  files: Readonly<Record<string, string>> = {},
): Promise<AgentWorld> {
  const plugins = [{ name: 'fs', config: { roots: ['.'] } }];
  const agent = { name: 'tester', provider: { kind: 'scripted', script }, plugins };
  const place = await scratch({ ...(script && { 'agent.json': JSON.stringify(agent) }), ...files });
  const { folder } = place;
  const env = { STARLOOM_HOME: join(folder, 'home') };
  return {
    folder,
    env,
    run: (...args) => runStarloom(['agent', ...args], { cwd: folder, env }),
    pipe: (lines, ...args) => pipe(lines, args, folder, env),
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

async function pipe(
  lines: readonly string[],
  args: readonly string[],
  cwd: string,
  extra: Record<string, string>,
): Promise<Run> {
  const child = spawn(process.execPath, [LAUNCHER, 'agent', ...args], {
    cwd,
    env: childEnvironment({ extra }),
    timeout: TIMEOUT_MS,
  });
  child.stdin.end(lines.map((line) => `${line}\n`).join(''));
  const [[code], stdout, stderr] = await Promise.all([
    once(child, 'close') as Promise<[number | null]>,
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code, stdout, stderr };
}
