import { existsSync } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../src/index.ts';

it('a temporary folder is private, new each time, and gone with all it held', async () => {
  const paths: string[] = [];
  {
    await using first = await temporaryFolder();
    await using second = await temporaryFolder();
    paths.push(first.path, second.path);
    await mkdir(join(first.path, 'inner'));
    await writeFile(join(first.path, 'inner', 'file'), 'text');
    expect((await stat(first.path)).mode & 0o777).toBe(0o700);
    expect(first.path).not.toBe(second.path);
  }
  expect(paths.filter((path) => existsSync(path))).toEqual([]);
});
