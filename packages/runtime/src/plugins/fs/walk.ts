import type { Dirent } from 'node:fs';
import { type FileHandle, open, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { FOLDER, pathOf, type Roots } from '@starloom/wire/files';

interface Walked {
  readonly path: string;
  readonly entry: Dirent;
  /** 1 for what lies in the folder itself. */
  readonly depth: number;
}

/** Folders whose content is not part of a project. */
const SKIPPED: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/**
 * What lies in a folder, by name, each folder before its content. Folders are held open and read by
 * their handles, links are shown and not followed: nothing outside is reached, whatever the paths lead
 * to by then. A folder below the first that cannot be read counts as empty.
 */
export async function* walk(
  roots: Roots,
  folder: string,
  maxDepth: number,
  signal: AbortSignal,
): AsyncGenerator<Walked> {
  const handle = await open(folder, FOLDER);
  try {
    await roots.assertOpened(handle, folder);
    const entries = await entriesOf(pathOf(handle, folder));
    yield* walkOpen({ handle, folder, entries, depth: 1 }, maxDepth, signal);
  } finally {
    await handle.close();
  }
}

interface OpenFolder {
  readonly handle: FileHandle;
  readonly folder: string;
  readonly entries: readonly Dirent[];
  readonly depth: number;
}

async function* walkOpen(
  { handle, folder, entries, depth }: OpenFolder,
  maxDepth: number,
  signal: AbortSignal,
): AsyncGenerator<Walked> {
  for (const entry of entries) {
    signal.throwIfAborted();
    const path = join(folder, entry.name);
    yield { path, entry, depth };
    if (!entry.isDirectory() || depth >= maxDepth || SKIPPED.has(entry.name)) continue;
    const inner = await open(join(pathOf(handle, folder), entry.name), FOLDER).catch(
      () => undefined,
    );
    if (!inner) continue;
    try {
      const found = await entriesOf(pathOf(inner, path)).catch(() => []);
      const next = { handle: inner, folder: path, entries: found, depth: depth + 1 };
      yield* walkOpen(next, maxDepth, signal);
    } finally {
      await inner.close();
    }
  }
}

const MAX_ENTRIES = 10_000;

async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries: Dirent[] = [];
  for await (const entry of await opendir(folder)) {
    entries.push(entry);
    if (entries.length >= MAX_ENTRIES) break;
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}
