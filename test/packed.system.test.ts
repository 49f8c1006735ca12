// What users install: tarballs made by `npm pack`, in an empty folder, started by `npx`.

import { mkdir } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram, temporaryFolder } from '@starloom/testkit';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { expect, it } from 'vitest';
import { neededPackages } from './support/packages.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** A hang guard, not a measure. */
const TIMEOUT_MS = 600_000;

interface Tarball {
  readonly name: string;
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

it(
  'starts from its packages in an empty folder, serves a sample agent, and stops',
  async () => {
    await using folder = await temporaryFolder();
    const packed = join(folder.path, 'packed');
    const app = join(folder.path, 'app');
    await Promise.all([mkdir(packed), mkdir(app)]);

    const tarballs = await pack(packed);
    for (const { name, files } of tarballs) {
      const paths = files.map(({ path }) => path);
      expect(paths, name).toEqual(expect.arrayContaining(['LICENSE', 'README.md']));
      const unwanted = paths.filter((path) => /^(src|test)\/|\.map$|\.tsbuildinfo$/.test(path));
      expect(unwanted, name).toEqual([]);
    }

    const files = tarballs.map(({ filename }) => join(packed, filename));
    const options = ['--no-audit', '--no-fund', '--prefer-offline'];
    await npm(['install', ...options, ...files], app);

    const home = join(folder.path, 'home');
    const env = environment({ STARLOOM_HOME: home });
    await using gateway = await spawnProcess({
      command: 'npx',
      args: ['--no-install', 'starloom', 'up', '--json', '--port', '0'],
      cwd: app,
      env,
    });
    const ready = await gateway.lines()[Symbol.asyncIterator]().next();
    if (ready.done) throw new Error(`the gateway did not start:\n${gateway.stderrTail()}`);
    const { event, pid } = JSON.parse(ready.value) as { event: string; pid: number };
    expect(event).toBe('ready');

    const call = ['--no-install', 'starloom', 'call', 'coder', 'code', '--json'];
    const args = [...call, '--arg', 'path=package.json'];
    const { code, stdout, stderr } = await runProgram({ command: 'npx', args, cwd: app, env });
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, agent_id: 'coder' });

    process.kill(pid, 'SIGTERM');
    expect(await gateway.exited).toMatchObject({ code: 0 });
  },
  TIMEOUT_MS,
);

/** `prepack` builds each of them. */
async function pack(destination: string): Promise<Tarball[]> {
  const workspaces = neededPackages('starloom').map((name) => `--workspace=${name}`);
  const args = ['pack', '--json', `--pack-destination=${destination}`, ...workspaces];
  const answer: unknown = JSON.parse(await npm(args, ROOT));
  return Object.values(answer as Record<string, Tarball>);
}

async function npm(args: readonly string[], cwd: string): Promise<string> {
  const options = { command: 'npm', args: [...args], cwd, env: environment() };
  const { code, stdout, stderr } = await runProgram(options, TIMEOUT_MS);
  expect(code, stderr).toBe(0);
  return stdout;
}

/** On the Node of this process, with nothing of the checkout on the path. */
function environment(extra: Readonly<Record<string, string>> = {}) {
  const outside = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((entry) => !entry.startsWith(ROOT));
  const path = [dirname(process.execPath), ...outside].join(delimiter);
  return childEnvironment({ allow: PROXIES, extra: { PATH: path, ...extra } });
}

const PROXIES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
