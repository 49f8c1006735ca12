import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FabricError } from '@starloom/core';
import { codeOf, fileFailure } from './file-failure.ts';

/**
 * The path with every symbolic link of what exists of it resolved. A link that leads nowhere is
 * refused: a write to it would create what it names.
 */
export async function realPathOf(path: string, shown: string): Promise<string> {
  const missing: string[] = [];
  for (let existing = path; ; existing = dirname(existing)) {
    try {
      return join(await realpath(existing), ...missing);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw fileFailure(error, shown);
      if (await isThere(existing)) throw danglingLink(shown);
      missing.unshift(basename(existing));
    }
  }
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function danglingLink(path: string): FabricError {
  return new FabricError('POLICY_DENIED', 'The path goes through a link that leads nowhere', {
    details: { reason: 'dangling_symlink', path, fix: 'name the file itself' },
  });
}
