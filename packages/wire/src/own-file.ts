// Files and folders for their owner alone. A file is written beside and put in place at once: a reader
// sees the old text or the new one, never a part, and after a power cut it is one of the two. A folder
// may keep a reserve: files of no meaning whose blocks are overwritten when the disk is full, so that
// what must be written there, a revocation say, needs no free block that another program could take.

import { randomBytes, randomUUID } from 'node:crypto';
import { readdirSync, unlinkSync } from 'node:fs';
import { chmod, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const RESERVE = '.reserve';
const PIECES = 8;
const PIECE = /^\d$/;
const PIECE_BYTES = 128 * 1024;
/** A smaller piece is not worth keeping. */
const LEAST_BYTES = 16 * 1024;

export async function writeOwnFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const fresh = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFresh(fresh, text, { sync: true });
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}

/** A new file; from the reserve of its folder where the disk is full. */
export async function writeFresh(
  path: string,
  text: string,
  { sync = false }: { readonly sync?: boolean } = {},
): Promise<void> {
  try {
    await using file = await open(path, 'wx', 0o600);
    await file.writeFile(text);
    await file.chmod(0o600);
    if (sync) await file.sync();
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    await rm(path, { force: true });
    if (!(await writeOverReserve(path, text))) throw error;
  }
}

/** Makes the folder, or closes one that is there to other users. */
export async function makeOwnFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await closeToOthers(path, 0o700);
}

/** True when other users could use what is at the path; from now on they cannot. */
export async function closeToOthers(path: string, mode: 0o600 | 0o700 = 0o600): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  const isOpen = found !== undefined && (found.mode & 0o077) !== 0;
  if (!isOpen || process.platform === 'win32') return false;
  await chmod(path, mode);
  return true;
}

/** Gives the folder a reserve, as large as there is room for. */
export async function keepReserve(folder: string): Promise<void> {
  try {
    await mkdir(join(folder, RESERVE), { recursive: true, mode: 0o700 });
  } catch (error) {
    if (!isDiskFull(error)) throw error;
  }
  await refillReserve(folder);
}

/** Replaces what was used of the reserve, where the folder has one. */
export async function refillReserve(folder: string): Promise<void> {
  const there = await readdir(join(folder, RESERVE)).catch(() => undefined);
  for (let index = 0; there !== undefined && index < PIECES; index += 1) {
    if (there.includes(String(index))) continue;
    if (!(await makePiece(join(folder, RESERVE, String(index))))) return;
  }
}

/** Gives a piece of the reserve back to the disk; false when none is left. */
export function releaseReserve(folder: string): boolean {
  try {
    const names = readdirSync(join(folder, RESERVE));
    const piece = names.find((name) => PIECE.test(name));
    if (piece === undefined) return false;
    unlinkSync(join(folder, RESERVE, piece));
    return true;
  } catch {
    return false;
  }
}

export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '');
}

/** The code of an error of the system or of a database, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** False when the disk is full. Of random bytes: a file system that compresses keeps room for them. */
async function makePiece(path: string): Promise<boolean> {
  const fresh = `${path}.tmp`;
  const bytes = randomBytes(PIECE_BYTES);
  let length = 0;
  try {
    await using file = await open(fresh, 'w', 0o600);
    while (length < bytes.length) {
      const some = Math.min(LEAST_BYTES, bytes.length - length);
      const { bytesWritten } = await file.write(bytes, length, some, length);
      length += bytesWritten;
    }
  } catch (error) {
    if (!isDiskFull(error)) throw error;
  }
  if (length >= LEAST_BYTES) await rename(fresh, path).catch(() => {});
  else await rm(fresh, { force: true });
  return length === bytes.length;
}

/** False when no piece is left that holds the text. */
async function writeOverReserve(path: string, text: string): Promise<boolean> {
  const bytes = Buffer.from(text);
  for (const piece of await piecesIn(dirname(path), bytes.length)) {
    try {
      await rename(piece, path);
    } catch {
      continue; // Another process took it.
    }
    try {
      await using file = await open(path, 'r+');
      await file.write(bytes, 0, bytes.length, 0);
      await file.truncate(bytes.length);
      await file.sync();
      return true;
    } catch (error) {
      await rm(path, { force: true });
      if (!isDiskFull(error)) throw error;
    }
  }
  return false;
}

/** Those that hold so many bytes, the smallest first. */
async function piecesIn(folder: string, least: number): Promise<string[]> {
  const names = await readdir(join(folder, RESERVE)).catch(() => []);
  const pieces = names.filter((name) => PIECE.test(name));
  const paths = pieces.map((name) => join(folder, RESERVE, name));
  const sizes = new Map<string, number>();
  for (const path of paths) sizes.set(path, (await stat(path).catch(() => undefined))?.size ?? 0);
  const sizeOf = (path: string) => sizes.get(path) ?? 0;
  return paths.filter((path) => sizeOf(path) >= least).sort((a, b) => sizeOf(a) - sizeOf(b));
}
