import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { FabricError } from '@starloom/core';
import { codeOf } from '../own-file.ts';
import { failure } from '../reasons.ts';
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
  throw failure('not_a_file', { kind: kindOf(stats), path });
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a folder';
  if (stats.isSymbolicLink()) return 'a link';
  if (stats.isFIFO()) return 'a pipe';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}

export interface TextFile {
  readonly path: string;
  readonly text: string;
  readonly stats: Stats;
}

/** A whole text file; BAD_INPUT when it is larger than `maxBytes` or no text. */
export async function readText(roots: Roots, given: string, maxBytes: number): Promise<TextFile> {
  const { handle, path, stats } = await openFile(roots, given);
  try {
    if (stats.size > maxBytes) throw tooLarge(given, stats.size, maxBytes);
    const bytes = Buffer.allocUnsafe(maxBytes + 1);
    let length = 0;
    for (let read = 1; read > 0 && length < bytes.length; length += read) {
      ({ bytesRead: read } = await handle.read(bytes, length, bytes.length - length, length));
    }
    if (length > maxBytes) throw tooLarge(given, length, maxBytes);
    return { path, text: decode(bytes.subarray(0, length), given), stats };
  } finally {
    await handle.close();
  }
}

/** A byte order mark stays: what is read and written back must be the same file. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array, path: string): string {
  try {
    if (!bytes.includes(0)) return utf8.decode(bytes);
  } catch {}
  throw failure('binary', { path });
}

function tooLarge(path: string, bytes: number, limit: number): FabricError {
  return failure('file_too_large', { path, bytes, limit });
}

/** By code of the file system. */
const REASONS = {
  ENOENT: 'not_found',
  ENOTDIR: 'not_a_folder',
  EISDIR: 'not_a_file',
  EACCES: 'no_permission',
  EPERM: 'no_permission',
  EROFS: 'read_only',
  ELOOP: 'link_loop',
  ENAMETOOLONG: 'bad_path/long',
  ENOSPC: 'disk_full/file',
} as const;

/** What the file system refused, in words for the caller that named the path. */
export function fileFailure(error: unknown, path: string): FabricError {
  if (FabricError.is(error)) return error;
  const reason = REASONS[codeOf(error) as keyof typeof REASONS];
  if (reason === undefined) return FabricError.from(error);
  return failure(reason, { path, kind: 'a folder' }, { cause: error });
}
