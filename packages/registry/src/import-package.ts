import { readFile } from 'node:fs/promises';
import { createRequire, findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * What a module in `folder` would get from `import(name)`: that folder's `node_modules` count, not
 * ours. Throws as Node does; `undefined` when there is no such package.
 */
export async function importPackage(
  name: string,
  folder: string,
): Promise<Record<string, unknown> | undefined> {
  const importer = join(folder, 'package.json');
  const manifest = findManifest(name, importer);
  if (manifest === undefined) return undefined;
  const { exports } = JSON.parse(await readFile(manifest, 'utf8'));
  const target = importTarget(exports);
  const path =
    target === undefined ? createRequire(importer).resolve(name) : join(dirname(manifest), target);
  return import(pathToFileURL(path).href);
}

function findManifest(name: string, importer: string): string | undefined {
  try {
    return findPackageJSON(name, importer);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

const IMPORT_CONDITIONS = new Set(['node', 'import', 'module-sync', 'default']);

/** By `exports`; `require.resolve` knows only what `require` may load. */
function importTarget(target: unknown): string | undefined {
  if (typeof target === 'string') return target;
  if (typeof target !== 'object' || target === null) return undefined;
  if ('.' in target) return importTarget(target['.']);
  for (const [condition, inner] of Object.entries(target)) {
    const found = IMPORT_CONDITIONS.has(condition) ? importTarget(inner) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
