// Every Node that `engines` names: the packed product on each, the unit tests on each as well.

import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram, type TemporaryFolder, temporaryFolder } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packProduct, TIMEOUT_MS, tryProduct } from './support/packed-product.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const HALF_HOUR = 1_800_000;
/** The floor, and the newest of each release that has long-term support. */
const VERSIONS = ['22.19.0', '22', '24', '26'];

const env = process.env as Record<string, string>;

let folder: TemporaryFolder;
let tarballs: string[];
beforeAll(async () => {
  folder = await temporaryFolder();
  const packed = join(folder.path, 'packed');
  tarballs = (await packProduct(packed)).map(({ filename }) => join(packed, filename));
}, TIMEOUT_MS);
afterAll(() => folder[Symbol.asyncDispose]());

describe.each(VERSIONS)('on Node %s', (version) => {
  let node: string;
  beforeAll(async () => {
    node = await installNode(version);
  }, TIMEOUT_MS);

  it('the packed product serves calls, jobs and sessions', { timeout: TIMEOUT_MS }, () =>
    tryProduct(tarballs, node),
  );

  it('the unit tests pass', { timeout: HALF_HOUR }, async () => {
    const { code, stdout, stderr } = await runProgram(
      {
        command: node,
        args: ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', '--reporter=dot'],
        cwd: ROOT,
        env: { ...env, PATH: [dirname(node), env.PATH].join(delimiter) },
      },
      HALF_HOUR,
    );
    expect(code, `${stdout}\n${stderr}`).toBe(0);
  });
});

async function installNode(version: string): Promise<string> {
  const place = join(folder.path, `node-${version}`);
  await mkdir(place);
  const manifest = { private: true, allowScripts: { node: true } };
  await writeFile(join(place, 'package.json'), JSON.stringify(manifest));
  const args = ['install', '--no-audit', '--no-fund', `node@${version}`];
  const installed = await runProgram({ command: 'npm', args, cwd: place, env }, TIMEOUT_MS);
  expect(installed.code, installed.stderr).toBe(0);
  const node = join(place, 'node_modules', '.bin', 'node');
  const { stdout } = await runProgram({ command: node, args: ['--version'] });
  expect(`${stdout}.`).toContain(`v${version}.`);
  return node;
}
