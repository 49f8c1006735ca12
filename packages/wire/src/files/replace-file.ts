import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf } from '../own-file.ts';
import { failure } from '../reasons.ts';
import { assertFile } from './read-file.ts';
import type { Roots } from './roots.ts';

interface Replacement {
  /** As `Roots.locate` gave it. */
  readonly path: string;
  readonly content: string;
  /** The file as it was read; it must not have changed since. */
  readonly before?: Stats;
}

/**
 * Puts a whole new file in place of the old one, or of none: a reader sees either, never a part.
 * Folders that are missing are made. True when there was none.
 */
export async function replaceFile(roots: Roots, replacement: Replacement): Promise<boolean> {
  const { path, content, before } = replacement;
  const shown = roots.show(path);
  assertNotGit(shown);
  await using folder = await openFolder(roots, dirname(path));
  const target = folder.entry(basename(path));
  const temporary = folder.entry(`.starloom-${randomUUID()}.tmp`);
  const old = await unlessMissing(lstat(target));
  if (old) assertFile(old, shown);
  try {
    await write(temporary, content, old);
    if (before) assertUnchanged(before, await unlessMissing(lstat(target)), shown);
    await rename(temporary, target);
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
  return old === undefined;
}

async function write(path: string, content: string, old: Stats | undefined): Promise<void> {
  await using handle = await open(path, 'wx', old ? old.mode & 0o777 : 0o666);
  await handle.writeFile(content);
  if (old) await handle.chmod(old.mode & 0o7777);
  await handle.sync();
}

async function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function assertUnchanged(before: Stats, now: Stats | undefined, path: string): void {
  const isSame = now?.ino === before.ino && now.mtimeMs === before.mtimeMs;
  if (isSame && now.size === before.size) return;
  throw failure('changed_meanwhile', { path });
}

/** The repository's owner runs what stands there with the next `git` command. */
export function assertNotGit(path: string): void {
  if (!path.split('/').some((segment) => segment.toLowerCase() === '.git')) return;
  throw failure('git_internals', { path });
}

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
  let handle = await unlessMissing(open(at, FOLDER));
  while (!handle) {
    missing.unshift(basename(at));
    at = dirname(at);
    handle = await unlessMissing(open(at, FOLDER));
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

/** Through the handle where the system can; elsewhere the path must do. */
export function pathOf({ fd }: FileHandle, path: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${fd}` : path;
}

function unlessItExists(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw error;
}
