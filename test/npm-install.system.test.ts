// `npm ci` on a host whose own Node is older than the one the checkout brings: quiet when all is
// well, and an error when it is not.

import { globSync, readFileSync } from 'node:fs';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  NETWORK_VARIABLES,
  runProgram,
  type TemporaryFolder,
  temporaryFolder,
} from '@starloom/testkit';
import { childEnvironment } from '@starloom/wire';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const FILES = ['.npmrc', 'package.json', 'package-lock.json', 'packages/*/package.json'];

/** A hang guard: npm asks the registry about packages that it does not know yet. */
const TIMEOUT_MS = 300_000;

type JsonObject = Record<string, unknown>;
interface Lock {
  packages: Record<
    string,
    { engines?: JsonObject; hasInstallScript?: boolean; optional?: boolean }
  >;
}

it('does not warn about engines that the host does not have', { timeout: TIMEOUT_MS }, async () => {
  await using folder = await copyOfManifests();
  await change<Lock>(folder, 'package-lock.json', ({ packages }) => {
    for (const entry of Object.values(packages)) entry.engines = { node: '>=999' };
  });
  const { code, output } = await npmCi(folder);
  expect(output).not.toMatch(/npm warn|EBADENGINE/);
  expect(code).toBe(0);
});

it('fails when the lock file does not fit', { timeout: TIMEOUT_MS }, async () => {
  await using folder = await copyOfManifests();
  await change<{ devDependencies: JsonObject }>(folder, 'package.json', ({ devDependencies }) => {
    devDependencies.typescript = '1.0.0';
  });
  const { code, output } = await npmCi(folder);
  expect(output).toContain('npm error');
  expect(code).toBe(1);
});

it('names every install script: allowed or refused', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  const { allowScripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    allowScripts: JsonObject;
  };
  const withScripts = Object.entries(packages)
    .filter(([, { hasInstallScript, optional }]) => hasInstallScript && !optional)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length));
  expect(Object.keys(allowScripts).sort()).toEqual(withScripts.sort());
});

async function copyOfManifests(): Promise<TemporaryFolder> {
  const folder = await temporaryFolder();
  for (const file of globSync(FILES, { cwd: ROOT })) {
    await cp(join(ROOT, file), join(folder.path, file), { recursive: true });
  }
  return folder;
}

async function change<T>(
  folder: TemporaryFolder,
  file: string,
  edit: (value: T) => void,
): Promise<void> {
  const path = join(folder.path, file);
  const value = JSON.parse(readFileSync(path, 'utf8')) as T;
  edit(value);
  await writeFile(path, JSON.stringify(value));
}

/** Reads the files and decides what to install; installs nothing. */
async function npmCi({ path }: TemporaryFolder) {
  const env = childEnvironment({ allow: NETWORK_VARIABLES });
  const npm = { command: 'npm', args: ['ci', '--dry-run'], cwd: path, env };
  const { code, stdout, stderr } = await runProgram(npm, TIMEOUT_MS);
  return { code, output: `${stdout}\n${stderr}` };
}
