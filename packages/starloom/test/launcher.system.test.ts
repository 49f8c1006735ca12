import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LAUNCHER, runNode, scratch } from './run-starloom.ts';

const PACKAGE = '{"type": "module"}';
const nodeNamed = (version: string) =>
  `Object.defineProperty(process, 'versions', { value: { node: '${version}' } });`;
const NEWER_NODE = `#!/bin/sh\nexec "${process.execPath}" "$@"\n`;

/** The launcher in a folder of its own, as it would stand in a checkout or an installation. */
async function launcherWith(files: Record<string, string>) {
  const place = await scratch({
    'package.json': PACKAGE,
    'old.cjs': nodeNamed('18.20.0'),
    'node-22.cjs': nodeNamed('22.19.0'),
    ...files,
  });
  await mkdir(join(place.folder, 'bin'));
  await copyFile(LAUNCHER, join(place.folder, 'bin', 'starloom.js'));
  return place;
}

const REPORT = `console.log(JSON.stringify({
  from: import.meta.filename.split('/').slice(-2).join('/'),
  args: process.argv.slice(2),
  conditions: process.execArgv.filter((option) => option.startsWith('--conditions')),
}));
process.exitCode = 7;`;

describe('the launcher', () => {
  it('runs the source where it is present, in the same process', async () => {
    await using place = await launcherWith({ 'src/main.ts': REPORT, 'bundle/main.js': '' });
    const { code, stdout } = await runNode(['bin/starloom.js', 'a', '--b'], { cwd: place.folder });
    expect(code).toBe(7);
    expect(JSON.parse(stdout)).toEqual({ from: 'src/main.ts', args: ['a', '--b'], conditions: [] });
  });

  it('makes packages of the checkout resolve to their source', async () => {
    await using place = await launcherWith({
      'src/main.ts': "import { word } from 'part'; console.log(word);",
      'node_modules/part/package.json': JSON.stringify({
        type: 'module',
        exports: { '@starloom/source': './source.js', default: './built.js' },
      }),
      'node_modules/part/source.js': "export const word = 'source';",
      'node_modules/part/built.js': "export const word = 'built';",
    });
    for (const option of [[], ['--conditions=@starloom/source']]) {
      const { stdout } = await runNode([...option, 'bin/starloom.js'], { cwd: place.folder });
      expect(stdout).toBe('source\n');
    }
  });

  it('runs the bundle where there is no source', async () => {
    await using place = await launcherWith({ 'bundle/main.js': REPORT });
    const { code, stdout } = await runNode(['bin/starloom.js'], { cwd: place.folder });
    expect(code).toBe(7);
    expect(JSON.parse(stdout)).toMatchObject({ from: 'bundle/main.js' });
  });

  it('hands over to the newer Node of the checkout when this one is too old', async () => {
    await using place = await launcherWith({
      'src/main.ts': REPORT,
      'node_modules/.bin/node': NEWER_NODE,
    });
    for (const version of ['./old.cjs', './node-22.cjs']) {
      const args = ['--require', version, 'bin/starloom.js', 'a'];
      const { code, stdout } = await runNode(args, { cwd: place.folder });
      expect(code).toBe(7);
      expect(JSON.parse(stdout)).toEqual({
        from: 'src/main.ts',
        args: ['a'],
        conditions: ['--conditions=@starloom/source'],
      });
    }
  });

  it('runs the bundle on Node 22, which cannot run the source', async () => {
    await using built = await launcherWith({ 'bundle/main.js': REPORT });
    const args = ['--require', './node-22.cjs', 'bin/starloom.js'];
    const { stdout } = await runNode(args, { cwd: built.folder });
    expect(JSON.parse(stdout)).toMatchObject({ from: 'bundle/main.js' });
    await using checkout = await launcherWith({ 'src/main.ts': REPORT });
    const { code, stderr } = await runNode(args, { cwd: checkout.folder });
    expect(code).toBe(1);
    expect(stderr).toMatch(/needs Node 24\.0 or newer in a checkout; this is 22\.19\.0/);
    expect(stderr).toMatch(/fix: run "npm ci" in the checkout/);
  });

  it('passes signals on, and the exit code back', async () => {
    await using place = await launcherWith({
      'src/main.ts': `process.on('SIGTERM', () => process.exit(9));
setInterval(() => {}, 1000);
console.log('ready');`,
      'node_modules/.bin/node': NEWER_NODE,
    });
    const child = spawn(process.execPath, ['--require', './old.cjs', 'bin/starloom.js'], {
      cwd: place.folder,
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 30_000,
    });
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([9, null]);
  });

  it('says what to do when Node is too old and no newer one is near', async () => {
    await using place = await launcherWith({ 'bundle/main.js': REPORT });
    const args = ['--require', './old.cjs', 'bin/starloom.js'];
    const { code, stdout, stderr } = await runNode(args, { cwd: place.folder });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/needs Node 22\.19 or newer; this is 18\.20\.0/);
    expect(stderr).toMatch(/fix: install a newer Node/);
  });
});
