import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepareFolder } from '../src/prepared-folder.ts';
import { temporaryFolder } from '../src/temporary-folder.ts';

describe('prepareFolder', () => {
  it('builds once, and again when what it is made from changed', async () => {
    await using cache = await temporaryFolder();
    const built: string[] = [];
    const prepare = (version: string) =>
      prepareFolder({
        name: 'peer',
        madeFrom: [version],
        cache: cache.path,
        async build(folder) {
          built.push(version);
          await writeFile(join(folder, 'version'), version);
        },
      });
    const first = await prepare('1');
    expect(await prepare('1')).toBe(first);
    expect(await readFile(join(await prepare('2'), 'version'), 'utf8')).toBe('2');
    expect(built).toEqual(['1', '2']);
  });

  it('gives two builders at the same time one complete folder', async () => {
    await using cache = await temporaryFolder();
    const bothBuild = Promise.withResolvers<void>();
    let building = 0;
    const prepare = () =>
      prepareFolder({
        name: 'peer',
        madeFrom: [],
        cache: cache.path,
        async build(folder) {
          building += 1;
          if (building === 2) bothBuild.resolve();
          await bothBuild.promise;
          await writeFile(join(folder, 'complete'), '');
        },
      });
    const [one, other] = await Promise.all([prepare(), prepare()]);
    expect(one).toBe(other);
    expect(await readdir(one)).toEqual(['complete']);
    expect(await readdir(cache.path)).toHaveLength(1);
  });

  it('leaves nothing of a build that failed', async () => {
    await using cache = await temporaryFolder();
    const build = async (folder: string) => {
      await writeFile(join(folder, 'half'), '');
      throw new Error('no network');
    };
    const prepared = prepareFolder({ name: 'peer', madeFrom: [], cache: cache.path, build });
    await expect(prepared).rejects.toThrow('no network');
    expect(await readdir(cache.path)).toEqual([]);
  });
});
