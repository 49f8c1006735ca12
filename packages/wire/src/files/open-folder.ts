import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf } from './file-failure.ts';
import type { Roots } from './roots.ts';

export const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** A folder that is held open: what is done in it happens there, whatever its path leads to by then. */
export interface OpenFolder extends AsyncDisposable {
  /** The path of an entry in it. */
  entry(name: string): string;
}

/** The folder at a path that `Roots.locate` gave; what is missing of it is made, step by step. */
export async function openFolder(roots: Roots, path: string): Promise<OpenFolder> {
  const missing: string[] = [];
  let at = path;
  let handle = await openOrNothing(at);
  while (!handle) {
    missing.unshift(basename(at));
    at = dirname(at);
    handle = await openOrNothing(at);
  }
  try {
    await roots.assertOpened(handle, at);
    for (const name of missing) {
      const entry = join(pathOf(handle, at), name);
      await mkdir(entry).catch(unlessItExists);
      const inner = await open(entry, FOLDER);
      await handle.close();
      handle = inner;
      at = join(at, name);
    }
  } catch (error) {
    await handle.close();
    throw error;
  }
  const opened = handle;
  return {
    entry: (name) => join(pathOf(opened, at), name),
    [Symbol.asyncDispose]: () => opened.close(),
  };
}

async function openOrNothing(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, FOLDER);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Through the handle where the system can; elsewhere the path must do. */
export function pathOf({ fd }: FileHandle, path: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${fd}` : path;
}

function unlessItExists(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw error;
}
