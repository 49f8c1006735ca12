// Whether words name a path. A root completes what was named: `/srv/agent/summary.md` is named by
// "summary.md" when `/srv/agent` is a root, and by nothing else below it. A path that climbs (`..`) is
// never completed: where it leads is not known from its text when a folder is a link.

import { isAbsolute, posix } from 'node:path';
import type { Words } from './words.ts';

/** A person who says "the readme" means one of these. */
const DOCUMENT = /\.(?:md|txt|csv)$/i;
const CLIMBS = /(?:^|[\\/])\.\.(?:[\\/]|$)/;

export function matchesPath(words: Words, value: string, roots: readonly string[]): boolean {
  if (CLIMBS.test(value)) return words.has(value);
  const path = posix.normalize(value.replaceAll('\\', '/')).replace(/\/$/, '');
  const whole = isAbsolute(path) ? [path] : roots.map((root) => posix.join(root, path));
  const relative = isAbsolute(path) ? roots.flatMap((root) => below(root, path)) : [path];
  return (
    whole.some((one) => words.has(one)) ||
    relative.some((one) => words.has(one) || words.has(`./${one}`) || hasParts(words, one))
  );
}

/** Folder and file were named apart: "in docs, write index.md". */
function hasParts(words: Words, path: string): boolean {
  const folders = path.split('/');
  const file = folders.pop() ?? '';
  const isNamed = words.has(file) || (DOCUMENT.test(file) && words.has(file.replace(DOCUMENT, '')));
  return isNamed && /\./.test(file) && folders.every((folder) => words.has(folder));
}

function below(root: string, path: string): string[] {
  const start = `${root.replace(/\/$/, '')}/`;
  return path.startsWith(start) && path !== start ? [path.slice(start.length)] : [];
}
