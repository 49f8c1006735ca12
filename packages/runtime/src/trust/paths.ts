// Whether words name a path. A root completes what was named: `/srv/agent/summary.md` is named by
// "summary.md" when `/srv/agent` is a root, and by nothing else below it.

import { isAbsolute, posix } from 'node:path';
import type { Words } from './words.ts';

/** A person who says "the readme" means one of these. */
const DOCUMENT = /\.(?:md|txt|csv)$/i;

export function matchesPath(words: Words, value: string, roots: readonly string[]): boolean {
  const path = posix.normalize(value.replaceAll('\\', '/')).replace(/\/$/, '');
  if (path.startsWith('../')) return words.has(value);
  const relative = isAbsolute(path) ? belowRoot(path, roots) : path;
  if (relative === undefined) return words.has(path);
  if (relative === '') return false;
  return (
    words.has(relative) ||
    words.has(`./${relative}`) ||
    roots.some((root) => words.has(posix.join(root, relative))) ||
    hasParts(words, relative)
  );
}

/** Folder and file were named apart: "in docs, write index.md". */
function hasParts(words: Words, path: string): boolean {
  const folders = path.split('/');
  const file = folders.pop() ?? '';
  const isNamed = words.has(file) || (DOCUMENT.test(file) && words.has(file.replace(DOCUMENT, '')));
  return isNamed && /\./.test(file) && folders.every((folder) => words.has(folder));
}

function belowRoot(path: string, roots: readonly string[]): string | undefined {
  const root = roots.find((one) => path === one || path.startsWith(`${one.replace(/\/$/, '')}/`));
  return root === undefined ? undefined : path.slice(root.length).replace(/^\//, '');
}
