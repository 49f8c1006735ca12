import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLog } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import { expect, it } from 'vitest';
import { openEmbeddedStore } from '../src/embedded-store.ts';

it.each([
  ['in what is no folder', async (path: string) => writeFile(join(path, '..'), 'a file')],
  ['where a folder is', async (path: string) => mkdir(path, { recursive: true })],
])('a store %s is refused with its path, the problem and what to do', async (_, prepare) => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'state', 'coordination.db');
  await prepare(path);
  await expect(openEmbeddedStore({ path, log: silentLog })).rejects.toMatchObject({
    code: 'OVERLOADED',
    details: {
      reason: 'engine_unavailable',
      path,
      problem: expect.stringMatching(/ENOTDIR|EEXIST|EISDIR/),
      fix: expect.stringContaining(path),
    },
  });
});
