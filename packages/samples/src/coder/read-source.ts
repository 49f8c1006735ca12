// Reads one source file inside a folder and nothing outside it, whatever the path says and wherever
// a link points. Only regular files of a bounded size that hold text.

import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { FabricError } from '@starloom/core';

export const MAX_SOURCE_BYTES = 524_288;

/** Throws BAD_INPUT, with `details.reason` saying why. */
export async function readSource(folder: string, path: string): Promise<string> {
  const root = await realpath(folder);
  const wanted = resolve(root, path);
  if (path.includes('\0') || !isInside(root, wanted)) throw refuse('outside_folder', path);
  const real = await realpath(wanted).catch(() => undefined);
  if (real === undefined) throw refuse('not_found', path);
  if (!isInside(root, real)) throw refuse('outside_folder', path);
  return readText(real, path);
}

const FIXES = {
  outside_folder: 'name a file inside the folder the agent was started in',
  not_found: 'name a file that exists',
  not_a_file: 'name a regular file that may be read',
  too_large: `name a file of at most ${MAX_SOURCE_BYTES} bytes`,
  not_text: 'name a file that holds text in UTF-8',
};

/** Not blocking, or a pipe put in the place of the file would hold us up. */
async function readText(real: string, path: string): Promise<string> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(real, flags).catch(() => undefined);
  if (file === undefined) throw refuse('not_a_file', path);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw refuse('not_a_file', path);
    if (stat.size > MAX_SOURCE_BYTES) throw refuse('too_large', path);
    const bytes = await file.readFile();
    if (!isUtf8(bytes) || bytes.includes(0)) throw refuse('not_text', path);
    return bytes.toString('utf8');
  } finally {
    await file.close();
  }
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function refuse(reason: keyof typeof FIXES, path: string): FabricError {
  const details = { reason, path: path.slice(0, 200), fix: FIXES[reason] };
  return new FabricError('BAD_INPUT', 'The file is not read', { details });
}
