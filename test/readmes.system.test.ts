// The example in the README of each package is a program: it runs, and its assertions hold.

import { readFileSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram, temporaryFolder } from '@starloom/testkit';
import { expect, test } from 'vitest';
import { codeBlocks } from './support/code-blocks.ts';
import { allPackages } from './support/packages.ts';

const MODULES = fileURLToPath(new URL('../node_modules', import.meta.url));

const examples = allPackages().flatMap(({ folder, manifest }) =>
  codeBlocks(readFileSync(join(folder, 'README.md'), 'utf8'))
    .filter(({ language }) => language === 'ts')
    .map(({ code }) => [manifest.name, code] as const),
);

test('every package but the command line has an example', () => {
  const named = new Set(examples.map(([name]) => name));
  const without = allPackages().filter(({ manifest }) => !named.has(manifest.name));
  expect(without.map(({ manifest }) => manifest.name)).toEqual(['starloom']);
});

test.each(examples)('the example of %s runs', async (_, code) => {
  await using folder = await temporaryFolder();
  await symlink(MODULES, join(folder.path, 'node_modules'));
  await writeFile(join(folder.path, 'package.json'), '{"type":"module"}');
  await writeFile(join(folder.path, 'example.ts'), code);
  const run = await runProgram({
    command: process.execPath,
    args: ['--conditions=@starloom/source', 'example.ts'],
    cwd: folder.path,
  });
  expect(run.code, run.stderr).toBe(0);
});
