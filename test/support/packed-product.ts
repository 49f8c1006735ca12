// What users install: tarballs made by `npm pack`, in an empty folder, started by `npx` on the Node
// that is asked for, with nothing of the checkout on the path.

import { mkdir, readFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NETWORK_VARIABLES, runProgram, temporaryFolder } from '@starloom/testkit';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { expect } from 'vitest';
import { neededPackages } from './packages.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** A hang guard, not a measure. */
export const TIMEOUT_MS = 600_000;

export interface Tarball {
  readonly name: string;
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/** `prepack` builds each of them. */
export async function packProduct(destination: string): Promise<Tarball[]> {
  await mkdir(destination, { recursive: true });
  const workspaces = neededPackages('starloom').map((name) => `--workspace=${name}`);
  const args = ['pack', '--json', `--pack-destination=${destination}`, ...workspaces];
  const answer: unknown = JSON.parse(await run(process.execPath, ROOT, 'npm', args));
  return Object.values(answer as Record<string, Tarball>);
}

/** Installs the tarballs, starts the gateway, makes a call, runs a job, shares a session, stops. */
export async function tryProduct(tarballs: readonly string[], node: string): Promise<void> {
  await using folder = await temporaryFolder();
  const app = join(folder.path, 'app');
  await mkdir(app);
  const options = ['--no-audit', '--no-fund', '--prefer-offline'];
  await run(node, app, 'npm', ['install', ...options, ...tarballs]);

  const home = join(folder.path, 'home');
  await using gateway = await spawnProcess({
    command: 'npx',
    args: ['--no-install', 'starloom', 'up', '--json', '--port', '0'],
    cwd: app,
    env: environment(node, { STARLOOM_HOME: home }),
  });
  const ready = await gateway.lines()[Symbol.asyncIterator]().next();
  if (ready.done) throw new Error(`the gateway did not start:\n${gateway.stderrTail()}`);
  const { event, pid, url } = JSON.parse(ready.value) as {
    event: string;
    pid: number;
    url: string;
  };
  expect(event).toBe('ready');
  await readPage(url);

  const starloom = async (...args: string[]): Promise<unknown> => {
    const all = ['--no-install', 'starloom', ...args, '--json'];
    return JSON.parse(await run(node, app, 'npx', all, { STARLOOM_HOME: home }));
  };
  const call = ['call', 'coder', 'code', '--arg', 'path=package.json'];
  expect(await starloom(...call)).toMatchObject({ ok: true, agent_id: 'coder' });

  const { job_id } = (await starloom(...call, '--async')) as { job_id: string };
  await expect
    .poll(() => starloom('jobs', 'show', job_id), { timeout: 60_000, interval: 1_000 })
    .toMatchObject({ job: { state: 'succeeded' } });

  await shareSession(home);

  process.kill(pid, 'SIGTERM');
  expect(await gateway.exited).toMatchObject({ code: 0 });
  expect(gateway.stderrTail()).not.toMatch(/Warning: /);
}

/** The console is in the packages: its page, and the script that the page names. */
async function readPage(url: string): Promise<void> {
  const page = await fetch(new URL('/console/', url));
  const [, script = ''] = /src="\.\/(main-[^"]+)"/.exec(await page.text()) ?? [];
  const code = await fetch(new URL(`/console/${script}`, url));
  expect([page.status, code.status, script]).toEqual([200, 200, expect.stringMatching(/\.js$/)]);
}

async function shareSession(home: string): Promise<void> {
  const { url, key } = JSON.parse(await readFile(join(home, 'client.json'), 'utf8')) as {
    url: string;
    key: string;
  };
  const ask = async (method: string, params: object) => {
    const response = await fetch(`${url}/rpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const answer = (await response.json()) as { result?: Record<string, unknown> };
    expect(answer, method).toHaveProperty('result');
    return answer.result ?? {};
  };
  const agent = { agent_id: 'visitor' };
  await ask('agent_registry.register', { ...agent, capabilities: [] });
  const { session_id } = await ask('session_manager.create', agent);
  const held = { ...agent, session_id };
  const { lock_token } = await ask('memory_locker.acquire', held);
  await ask('context_coordinator.update', { ...held, lock_token, update: { word: 'kept' } });
  expect(await ask('context_coordinator.get', held)).toMatchObject({ context: { word: 'kept' } });
}

async function run(
  node: string,
  cwd: string,
  command: string,
  args: readonly string[],
  extra: Readonly<Record<string, string>> = {},
): Promise<string> {
  const options = { command, args: [...args], cwd, env: environment(node, extra) };
  const { code, stdout, stderr } = await runProgram(options, TIMEOUT_MS);
  expect(code, stderr).toBe(0);
  return stdout;
}

function environment(node: string, extra: Readonly<Record<string, string>>) {
  const outside = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((entry) => !entry.startsWith(ROOT));
  const path = [dirname(node), ...outside].join(delimiter);
  return childEnvironment({ allow: NETWORK_VARIABLES, extra: { PATH: path, ...extra } });
}
