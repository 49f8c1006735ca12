// Puts a new text in the place of a file. Readers see the old file or the new one, never a part;
// after a power cut it is one of the two. A symbolic link stays, and what it points to is replaced.

import { randomUUID } from 'node:crypto';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** `check` may look at the new file before it takes the place; when it throws, nothing changed. */
export async function replaceFile<T>(
  path: string,
  text: string,
  check: (temporaryPath: string) => Promise<T>,
): Promise<T> {
  const target = await realpath(path);
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}.tmp`);
  try {
    await writeLike(target, temporary, text);
    const checked = await check(temporary);
    await rename(temporary, target);
    await syncFolder(dirname(target));
    return checked;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Writes `text` to the disk, with the mode of `model` and, where we may, its owner. */
async function writeLike(model: string, path: string, text: string): Promise<void> {
  const { mode, uid, gid } = await stat(model);
  await using file = await open(path, 'wx', 0o600);
  await file.writeFile(text);
  if (process.geteuid?.() === 0) await file.chown(uid, gid);
  await file.chmod(mode & 0o7777);
  await file.sync();
}

async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  await using folder: FileHandle = await open(path, 'r');
  await folder.sync();
}
