// The documents a librarian looks after: README.md and the markdown under docs/ of a folder, or
// those that came with this package where the folder has none. Bounded in number and size; links,
// hidden folders and installed packages are passed over.

import { lstat, readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Document {
  /** Relative to the folder, with slashes. */
  readonly path: string;
  readonly text: string;
}

const MAX_DOCUMENTS = 500;
const MAX_BYTES = 1_048_576;
const SHIPPED = fileURLToPath(new URL('../../docs', import.meta.url));

export async function readDocuments(folder: string): Promise<Document[]> {
  const paths = [join(folder, 'README.md')];
  for await (const path of markdownIn(join(folder, 'docs'))) paths.push(path);
  const own = await readAll(folder, paths);
  return own.length > 0 ? own : readAll(SHIPPED, await Array.fromAsync(markdownIn(SHIPPED)));
}

async function* markdownIn(folder: string): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* markdownIn(path);
    else if (entry.isFile() && entry.name.endsWith('.md')) yield path;
  }
}

async function readAll(folder: string, paths: readonly string[]): Promise<Document[]> {
  const documents: Document[] = [];
  for (const path of paths) {
    if (documents.length === MAX_DOCUMENTS) break;
    const text = await readBounded(path);
    if (text === undefined) continue;
    documents.push({ path: relative(folder, path).split(sep).join('/'), text });
  }
  return documents;
}

/** `undefined` for what is not there, no file of its own, or too large. */
async function readBounded(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isFile() && found.size <= MAX_BYTES ? readFile(path, 'utf8') : undefined;
}
