import {
  appendFile,
  chmod,
  mkdir,
  mkdtemp,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '@starloom/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileWatch, fingerprintOf } from '../src/file-watch.ts';

const NEVER = 2 ** 31 - 1;

describe('a watched file', () => {
  let folder: string;
  let path: string;
  let changes: number;
  const watches: FileWatch[] = [];
  const watchFile = async (times: { settleMs?: number; pollMs?: number }, file = path) => {
    const onChange = () => {
      changes += 1;
    };
    const known = await fingerprintOf(file);
    watches.push(new FileWatch({ path: file, known, onChange, log: silentLog, ...times }));
  };
  const untilChanges = (count: number) =>
    expect.poll(() => changes, { timeout: 10_000 }).toBe(count);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'starloom-watch-'));
    path = join(folder, 'file');
    changes = 0;
    await writeFile(path, 'one');
  });
  afterEach(async () => {
    for (const watch of watches.splice(0)) watch.close();
    await rm(folder, { recursive: true });
  });

  it('is reported by the events of its folder', async () => {
    await watchFile({ settleMs: 10, pollMs: NEVER });
    await writeFile(path, 'another');
    await untilChanges(1);
    await rm(path);
    await untilChanges(2);
    await writeFile(path, 'back');
    await untilChanges(3);
  });

  it('is reported once when it was written in many steps', async () => {
    await watchFile({ settleMs: 500 });
    for (let step = 0; step < 20; step += 1) await appendFile(path, `step ${step}\n`);
    await untilChanges(1);
    await writeFile(path, 'the next change');
    await untilChanges(2);
  });

  it('is found by looking when no event tells: a folder above it was exchanged', async () => {
    for (const version of ['v1', 'v2']) {
      await mkdir(join(folder, version, 'config'), { recursive: true });
      await writeFile(join(folder, version, 'config', 'file'), version);
    }
    const current = join(folder, 'current');
    await symlink('v1', current);
    await watchFile({ settleMs: 10, pollMs: 20 }, join(current, 'config', 'file'));
    await symlink('v2', `${current}.new`);
    await rename(`${current}.new`, current);
    await untilChanges(1);
  });

  it('counts as changed when it may be read again', async () => {
    await watchFile({ settleMs: 10, pollMs: 20 });
    await chmod(path, 0o000);
    await untilChanges(1);
    await chmod(path, 0o644);
    await untilChanges(2);
  });

  it('is found by looking when its folder cannot be watched', async () => {
    const missing = join(folder, 'later', 'file');
    await watchFile({ settleMs: 10, pollMs: 20 }, missing);
    await mkdir(join(folder, 'later'));
    await writeFile(missing, 'there');
    await untilChanges(1);
  });

  it('is let alone when other files of its folder change', async () => {
    await watchFile({ settleMs: 10, pollMs: 20 });
    for (const name of ['a', 'b', 'c']) await writeFile(join(folder, name), name);
    await writeFile(path, 'changed');
    await untilChanges(1);
  });
});
