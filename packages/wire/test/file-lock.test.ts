import { spawnSync } from 'node:child_process';
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@starloom/testkit';
import { withFileLock } from '@starloom/wire';
import { expect, it } from 'vitest';

async function openWorld() {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'keys.json');
  const lock = join(folder.path, '.keys.json.lock');
  const left = () => readdir(folder.path);
  return { path, lock, left, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

it('names the process that has the turn from the first moment on, and when that process started', async () => {
  await using world = await openWorld();
  const seen = await withFileLock(world.path, () => readFile(world.lock, 'utf8'));
  const start = process.platform === 'linux' ? '\\d+' : '';
  expect(seen).toMatch(new RegExp(`^${process.pid} ${start}\\n$`));
  expect(await world.left()).toEqual([]);
});

it('lets one process at a time have the turn, also after locks and claims that were abandoned', async () => {
  await using world = await openWorld();
  const { pid } = spawnSync(process.execPath, ['--version']);
  let inside = 0;
  let most = 0;
  const work = async () => {
    inside += 1;
    most = Math.max(most, inside);
    await new Promise((resolve) => setTimeout(resolve, 1));
    inside -= 1;
  };
  for (let round = 0; round < 30; round += 1) {
    await writeFile(world.lock, `${pid} ${round}\n`);
    if (round % 3 > 0) await writeFile(`${world.lock}.${pid}-${round}`, `${pid} 1\n`);
    if (round % 3 > 1) await writeFile(`${world.lock}.${pid}-${round}.${pid}-1`, `${pid} 2\n`);
    await Promise.all(Array.from({ length: 8 }, () => withFileLock(world.path, work)));
  }
  expect(most).toBe(1);
  expect(await world.left()).toEqual([]);
});

it('does not wait for a lock that a process of an earlier version left empty', async () => {
  await using world = await openWorld();
  await writeFile(world.lock, '');
  const longAgo = new Date(Date.now() - 60_000);
  await utimes(world.lock, longAgo, longAgo);
  expect(await withFileLock(world.path, async () => 'done')).toBe('done');
});

it.runIf(process.platform === 'linux')(
  'does not take another process for the one that had the same id before',
  async () => {
    await using world = await openWorld();
    await writeFile(world.lock, `${process.ppid} 1\n`);
    expect(await withFileLock(world.path, async () => 'done')).toBe('done');
  },
);
