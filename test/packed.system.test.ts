import { join } from 'node:path';
import { temporaryFolder } from '@starloom/testkit';
import { expect, it } from 'vitest';
import { packProduct, TIMEOUT_MS, tryProduct } from './support/packed-product.ts';

it(
  'starts from its packages in an empty folder, serves calls, jobs and sessions, and stops',
  async () => {
    await using folder = await temporaryFolder();
    const tarballs = await packProduct(folder.path);
    for (const { name, files } of tarballs) {
      const paths = files.map(({ path }) => path);
      expect(paths, name).toEqual(expect.arrayContaining(['LICENSE', 'README.md']));
      const unwanted = paths.filter((path) => /^(src|test)\/|\.map$|\.tsbuildinfo$/.test(path));
      expect(unwanted, name).toEqual([]);
    }
    const files = tarballs.map(({ filename }) => join(folder.path, filename));
    await tryProduct(files, process.execPath);
  },
  TIMEOUT_MS,
);
