import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { allPackages, neededPackages, type PackageManifest } from './support/packages.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const LICENSE = readFileSync(join(ROOT, 'LICENSE'), 'utf8');
const root = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as PackageManifest;

describe.each(allPackages().map((one) => [one.manifest.name, one] as const))('%s', (_, one) => {
  const { folder, manifest } = one;
  /** The command is packed with the code of the other packages in it. */
  const isBundled = manifest.name === 'starloom';

  it('says what it is, under which terms, and on which Node it runs', () => {
    expect(manifest.description).toMatch(/^[A-Z].{20,}[^.]$/);
    expect(manifest).toMatchObject({ license: 'Apache-2.0', type: 'module' });
    expect(manifest.engines).toEqual(root.engines);
    expect(readFileSync(join(folder, 'LICENSE'), 'utf8')).toBe(LICENSE);
    const readme = readFileSync(join(folder, 'README.md'), 'utf8');
    expect(readme.split('\n', 1)).toEqual([`# ${manifest.name}`]);
  });

  it('exports source files that exist, and the build of each', () => {
    for (const target of Object.values(manifest.exports ?? {})) {
      if (typeof target === 'string') {
        expect(existsSync(join(folder, target)), target).toBe(true);
        continue;
      }
      const source = target['@starloom/source'] ?? '';
      expect(existsSync(join(folder, source)), source).toBe(true);
      const built = source.replace('./src/', './dist/').replace(/\.ts$/, '');
      const { types, default: code } = target;
      expect({ types, code }).toEqual({ types: `${built}.d.ts`, code: `${built}.js` });
    }
  });

  it('packs the build without source maps, and every other folder it names exists', () => {
    if (manifest.private) return;
    const { files = [] } = manifest;
    const built = isBundled ? ['bundle', 'openapi.json'] : ['dist', '!dist/**/*.map'];
    expect(files).toEqual(expect.arrayContaining(built));
    for (const name of files.filter((entry) => !built.includes(entry))) {
      expect(existsSync(join(folder, name)), name).toBe(true);
    }
  });

  it('imports each of its dependencies, or brings it as the peer of another', () => {
    const folders = isBundled ? allPackages().map((each) => each.folder) : [folder];
    const source = folders.map((each) => textOf(each, 'src')).join('\n');
    const runtime = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
    const imported = runtime.filter((name) => imports(source, name));
    const peers = new Set(imported.flatMap(peersOf));
    const needless = runtime.filter((name) => !imported.includes(name) && !peers.has(name));
    expect(needless).toEqual([]);
    const all = source + textOf(folder, 'test');
    const development = Object.keys(manifest.devDependencies ?? {}).map((name) =>
      name.replace('@types/', ''),
    );
    expect(development.filter((name) => !imports(all, name))).toEqual([]);
  });
});

describe('@starloom/coordination-client', () => {
  it('brings no server: of ours it needs core alone, and of others ws and zod', () => {
    const name = '@starloom/coordination-client';
    const needed = neededPackages(name);
    expect(needed).toEqual([name, '@starloom/core']);
    const manifests = allPackages().filter(({ manifest }) => needed.includes(manifest.name));
    const foreign = manifests.flatMap(({ manifest }) => Object.keys(manifest.dependencies ?? {}));
    const others = foreign.filter((dependency) => !needed.includes(dependency));
    expect(new Set(others)).toEqual(new Set(['ws', 'zod']));
  });
});

function textOf(folder: string, part: string): string {
  const files = globSync(`${part}/**/*.{ts,tsx}`, { cwd: folder });
  return files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
}

function peersOf(name: string): string[] {
  const file = join(ROOT, 'node_modules', name, 'package.json');
  const { peerDependencies = {} } = JSON.parse(readFileSync(file, 'utf8')) as PackageManifest;
  return Object.keys(peerDependencies);
}

function imports(text: string, name: string): boolean {
  return text.includes(`'${name}'`) || text.includes(`'${name}/`);
}
