import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';

export interface Walked {
  readonly path: string;
  readonly entry: Dirent;
  /** 1 for what lies in the folder itself. */
  readonly depth: number;
}

/** Folders whose content nobody means when they walk a project. */
const SKIPPED: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/**
 * What lies in a folder, by name, each folder before its content. Links are shown and not followed,
 * so nothing outside is reached; a folder that cannot be read counts as empty.
 */
export async function* walk(
  folder: string,
  maxDepth: number,
  signal: AbortSignal,
  depth = 1,
): AsyncGenerator<Walked> {
  for (const entry of await entriesOf(folder, depth === 1)) {
    signal.throwIfAborted();
    const path = join(folder, entry.name);
    yield { path, entry, depth };
    if (!entry.isDirectory() || depth >= maxDepth || SKIPPED.has(entry.name)) continue;
    yield* walk(path, maxDepth, signal, depth + 1);
  }
}

const MAX_ENTRIES = 10_000;

async function entriesOf(folder: string, isFirst: boolean): Promise<Dirent[]> {
  const entries: Dirent[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      entries.push(entry);
      if (entries.length >= MAX_ENTRIES) break;
    }
  } catch (error) {
    if (isFirst) throw error;
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}
