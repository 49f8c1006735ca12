import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { FabricError } from '@starloom/core';
import { codeOf } from './file-failure.ts';
import { assertFile } from './open-file.ts';
import { openFolder } from './open-folder.ts';
import type { Roots } from './roots.ts';

export interface Replacement {
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
  const old = await statOrNothing(target);
  if (old) assertFile(old, shown);
  try {
    await write(temporary, content, old);
    if (before) assertUnchanged(before, await statOrNothing(target), shown);
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

async function statOrNothing(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function assertUnchanged(before: Stats, now: Stats | undefined, path: string): void {
  const isSame = now?.ino === before.ino && now.mtimeMs === before.mtimeMs;
  if (isSame && now.size === before.size) return;
  throw new FabricError('BAD_INPUT', 'The file changed while it was edited', {
    details: { reason: 'changed_meanwhile', path, fix: 'read it again, then edit it' },
  });
}

/** The repository's owner runs what stands there with the next `git` command. */
function assertNotGit(path: string): void {
  if (!path.split('/').some((segment) => segment.toLowerCase() === '.git')) return;
  throw new FabricError('POLICY_DENIED', 'The inside of a git repository is not written to', {
    details: { reason: 'git_internals', path, fix: 'use the git tools' },
  });
}
