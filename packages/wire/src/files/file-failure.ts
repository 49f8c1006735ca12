import { FabricError } from '@starloom/core';

const ROWS: Readonly<Record<string, readonly [reason: string, what: string, fix: string]>> = {
  ENOENT: ['not_found', 'There is nothing at this path', 'list the folder to see what is there'],
  ENOTDIR: ['not_a_folder', 'A part of the path is a file', 'name a path that goes by folders'],
  EISDIR: ['not_a_file', 'This is a folder', 'name a file'],
  EACCES: ['no_permission', 'The file system does not permit it', 'name another file'],
  EPERM: ['no_permission', 'The file system does not permit it', 'name another file'],
  EROFS: ['read_only', 'The file system is read-only', 'name another folder'],
  ELOOP: ['link_loop', 'The path leads through links in a circle', 'name the file itself'],
  ENAMETOOLONG: ['bad_path', 'The name is too long', 'choose a shorter name'],
  ENOSPC: ['disk_full', 'The disk is full', 'free some space'],
};

/** What the file system refused, in words for the caller that named the path. */
export function fileFailure(error: unknown, path: string): FabricError {
  if (FabricError.is(error)) return error;
  const [reason, what, fix] = ROWS[codeOf(error) ?? ''] ?? [];
  if (!reason || !what) return FabricError.from(error);
  return new FabricError('BAD_INPUT', what, { details: { reason, path, fix }, cause: error });
}

export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}
