// The README's first command: a checkout that was never built serves from its sources, in every thread.

import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@starloom/testkit';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { expect, it } from 'vitest';
import { allPackages } from './support/packages.ts';

const MODULES = fileURLToPath(new URL('../node_modules', import.meta.url));

it('starts without a build', async () => {
  await using folder = await temporaryFolder();
  await copyCheckout(folder.path);
  await using gateway = await spawnProcess({
    command: process.execPath,
    args: [join(folder.path, 'packages/starloom/bin/starloom.js'), 'up', '--json', '--port', '0'],
    cwd: folder.path,
    env: childEnvironment({ extra: { STARLOOM_HOME: join(folder.path, 'state') } }),
  });
  const ready = await gateway.lines()[Symbol.asyncIterator]().next();
  expect(ready.value, gateway.stderrTail()).toContain('"event":"ready"');
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
}
