// Modules that users bring: found from their project, never from ours.

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isAbsolute, join, resolve } from 'node:path';

const PACKAGE_NAME = /^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;
const IMPORT_CONDITIONS = new Set(['node', 'import', 'module-sync', 'default']);

/**
 * The file that `import(name)` would load in `folder`, for the name of a package or a path that
 * begins with a dot or a slash; `undefined` when there is none. Throws as Node does when there is a
 * package that cannot be read.
 */
export function findModule(name: string, folder: string): string | undefined {
  const from = resolve(folder);
  if (/^\.{1,2}\//.test(name) || isAbsolute(name)) {
    const path = resolve(from, name);
    return existsSync(path) ? path : undefined;
  }
  return PACKAGE_NAME.test(name) ? findPackage(name, from) : undefined;
}

function findPackage(name: string, folder: string): string | undefined {
  const require = createRequire(join(folder, 'package.json'));
  const home = (require.resolve.paths(name) ?? [])
    .map((modules) => join(modules, name))
    .find((candidate) => existsSync(join(candidate, 'package.json')));
  if (home === undefined) return undefined;
  const { exports } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
  const target = importTarget(exports);
  return target === undefined ? require.resolve(name) : join(home, target);
}

/** By `exports`: `require.resolve` knows only what `require` may load. */
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
