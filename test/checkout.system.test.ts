// The README's first commands: a checkout that was never built serves from its sources, in every thread,
// and its examples run whatever agents the user has added to it.

import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram, type TemporaryFolder, temporaryFolder } from '@starloom/testkit';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { allPackages } from './support/packages.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MODULES = join(ROOT, 'node_modules');

let folder: TemporaryFolder;

beforeAll(async () => {
  folder = await temporaryFolder();
  await copyCheckout(folder.path);
});

afterAll(() => folder[Symbol.asyncDispose]());

it('starts without a build', async () => {
  await using gateway = await spawnProcess({
    command: process.execPath,
    args: [join(folder.path, 'packages/starloom/bin/starloom.js'), 'up', '--json', '--port', '0'],
    cwd: folder.path,
    env: childEnvironment({ extra: { STARLOOM_HOME: join(folder.path, 'state') } }),
  });
  const ready = await gateway.lines()[Symbol.asyncIterator]().next();
  expect(ready.value, gateway.stderrTail()).toContain('"event":"ready"');
});

it('runs its examples beside agents of its own', async () => {
  const agent = { agent_id: 'files', endpoint: { transport: 'stdio', command: 'none' } };
  await writeFile(join(folder.path, 'agents.yaml'), JSON.stringify([agent]));
  const { code, stdout, stderr } = await runProgram({
    command: process.execPath,
    args: ['--conditions=@starloom/source', 'examples/run.ts', 'first-call'],
    cwd: folder.path,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '── first-call\n' });
  expect(stdout).toContain('all of it worked');
});

it('runs one suite of the interop tests by its name', async () => {
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const [command, ...words] = scripts['test:interop'].replace('run', 'list --filesOnly').split(' ');
  const args = [join(MODULES, '.bin', command), ...words, 'a2a-suite'];
  const listed = await runProgram({ command: process.execPath, args, cwd: ROOT });
  expect(listed.stdout.trim().split('\n')).toEqual([
    expect.stringMatching(/test\/interop\/a2a-suite\.engine\.test\.ts$/),
  ]);
});

/** The packages without their builds, beside everything that is installed here. */
async function copyCheckout(folder: string): Promise<void> {
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, '@starloom'), { recursive: true });
  for (const name of await readdir(MODULES)) {
    if (name === '@starloom' || name === 'starloom') continue;
    await symlink(join(MODULES, name), join(modules, name));
  }
  for (const { folder: from, manifest } of allPackages()) {
    const to = join(folder, 'packages', basename(from));
    for (const part of ['package.json', 'src', 'bin', 'docs', 'node_modules']) {
      const path = join(from, part);
      if (existsSync(path)) await cp(path, join(to, part), { recursive: true });
    }
    await symlink(to, join(modules, manifest.name));
  }
  await cp(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true });
}
