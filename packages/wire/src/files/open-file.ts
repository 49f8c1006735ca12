import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { FabricError } from '@starloom/core';
import { fileFailure } from './file-failure.ts';
import type { Roots } from './roots.ts';

/** `O_NOFOLLOW`: the path has no links left, so one that is there now was put there meanwhile. */
const READ_ONLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A file below the roots, opened to be read. Devices, pipes, sockets and folders are refused. */
export async function openFile(
  roots: Roots,
  given: string,
): Promise<{ readonly handle: FileHandle; readonly path: string; readonly stats: Stats }> {
  const path = await roots.locate(given);
  let handle: FileHandle | undefined;
  try {
    assertFile(await lstat(path), given);
    handle = await open(path, READ_ONLY);
    const stats = await handle.stat();
    assertFile(stats, given);
    await roots.assertOpened(handle, path);
    return { handle, path, stats };
  } catch (error) {
    await handle?.close();
    throw fileFailure(error, given);
  }
}

export function assertFile(stats: Stats, path: string): void {
  if (stats.isFile()) return;
  throw new FabricError('BAD_INPUT', `This is ${kindOf(stats)}, not a file`, {
    details: { reason: 'not_a_file', path, fix: 'name a regular file' },
  });
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a folder';
  if (stats.isSymbolicLink()) return 'a link';
  if (stats.isFIFO()) return 'a pipe';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}
