import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@starloom/testkit';
import { expect, it } from 'vitest';
import { packProduct, TIMEOUT_MS, tryProduct } from './support/packed-product.ts';

const PACKAGE = fileURLToPath(new URL('../packages/starloom/', import.meta.url));
const { dependencies } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
/** What a library in the bundle does without, or only writes into code that it generates. */
const OPTIONAL = ['ajv', 'ajv-formats', 'bufferutil', 'pino-pretty', 'utf-8-validate'];
const declared = new Set([...Object.keys(dependencies), ...OPTIONAL]);

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
    expect(importsOf(join(PACKAGE, 'bundle')).filter((name) => !declared.has(name))).toEqual([]);
    const files = tarballs.map(({ filename }) => join(folder.path, filename));
    await tryProduct(files, process.execPath);
  },
  TIMEOUT_MS,
);

/** Names of the packages that the files of a bundle ask for. */
function importsOf(bundle: string): string[] {
  const texts = globSync('*.{js,cjs}', { cwd: bundle }).map((name) =>
    readFileSync(join(bundle, name), 'utf8'),
  );
  const found = texts.flatMap((text) => [
    ...text.matchAll(/(?:\bfrom|\bimport\(|\bimport|\brequire\w*\()\s*(["'`])([@\w][^"'`\s$]*)\1/g),
  ]);
  const names = found.map(([, , id = '']) => id.split('/', id.startsWith('@') ? 2 : 1).join('/'));
  return [...new Set(names)].filter((name) => !isBuiltin(name)).sort();
}
