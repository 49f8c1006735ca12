import { existsSync, readFileSync } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { isObject } from '@starloom/core';
import type { Environment } from './environment.ts';

interface ProgramPlace {
  readonly command: string;
  readonly cwd?: string;
  readonly env?: Environment;
}

/** The file that would be started, looked for as the system does; `undefined` when there is none. */
export async function findProgram(place: ProgramPlace): Promise<string | undefined> {
  const cwd = resolve(place.cwd ?? '.');
  if (!(await stat(cwd).catch(() => undefined))?.isDirectory()) return undefined;
  for (const candidate of candidates(place, cwd)) {
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
}

function candidates({ command, env = {} }: ProgramPlace, cwd: string): string[] {
  const isPath = command.includes('/') || (WINDOWS && command.includes('\\'));
  const folders = isPath ? [cwd] : (env.PATH ?? env.Path ?? DEFAULT_PATH).split(delimiter);
  const endings = WINDOWS ? ['', ...(env.PATHEXT ?? '.EXE;.CMD').split(';')] : [''];
  return folders.flatMap((folder) =>
    endings.map((ending) => resolve(cwd, folder, command + ending)),
  );
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

const WINDOWS = process.platform === 'win32';
const DEFAULT_PATH = '/usr/bin:/bin';

const PACKAGE_NAME = /^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;
const IMPORT_CONDITIONS = new Set(['node', 'import', 'module-sync', 'default']);

/**
 * A module that users bring, found from their project and never from ours: the file that `import(name)`
 * would load in `folder`, for the name of a package or a path that begins with a dot or a slash;
 * `undefined` when there is none. Throws as Node does when there is a package that cannot be read.
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
  if (!isObject(target)) return undefined;
  if ('.' in target) return importTarget(target['.']);
  for (const [condition, inner] of Object.entries(target)) {
    const found = IMPORT_CONDITIONS.has(condition) ? importTarget(inner) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
