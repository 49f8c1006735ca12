import { readdir, readFile, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { FabricError } from '@starloom/core';
import { isInside } from '@starloom/wire/files';

/**
 * POLICY_DENIED when `.git` of the folder, or what it refers to, lies outside of the folder: a link, a
 * file that names another place, a common folder, or a link inside of it.
 */
export async function assertRepositoryInside(folder: string): Promise<void> {
  const root = await realpath(folder);
  const own = join(folder, '.git');
  const named = await pointerIn(own, 'gitdir:');
  const repository = await realpath(named === undefined ? own : resolve(folder, named)).catch(
    () => undefined,
  );
  if (repository === undefined || !isInside(root, repository)) throw outside(folder);
  const common = await pointerIn(join(repository, 'commondir'), '');
  const parts = await readdir(repository, { withFileTypes: true });
  const links = parts.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name);
  for (const place of [...links, ...(common === undefined ? [] : [common])]) {
    const real = await realpath(resolve(repository, place)).catch(() => undefined);
    if (real === undefined || !isInside(root, real)) throw outside(folder);
  }
}

/** What a file of one line names; `undefined` when there is no such file. */
async function pointerIn(file: string, prefix: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text?.startsWith(prefix) ? text.slice(prefix.length).trim() : undefined;
}

function outside(folder: string): FabricError {
  return new FabricError('POLICY_DENIED', 'The repository lies outside of its folder', {
    details: {
      reason: 'repository_outside',
      folder,
      fix: 'set "folder" of the git plugin to the main working tree',
    },
  });
}
