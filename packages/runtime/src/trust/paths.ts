// Whether words name a path. A root completes what was named: `/srv/agent/summary.md` is named by
// "summary.md" when `/srv/agent` is a root, and by nothing else below it. A path that climbs (`..`) is
// never completed: where it leads is not known from its text when a folder is a link.

import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, posix, resolve } from 'node:path';
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

/**
 * The folders that words of a configuration name, also as what they link to. A path counts by its shape, a
 * plain word when there is such a folder; `--root=data` by its value, a list (`a:b`) by its parts, too.
 */
export function foldersIn(words: readonly string[], folder: string, home = '~'): string[] {
  const found = words.flatMap(toParts).flatMap((part) => {
    const path = resolve(folder, part.replace(/^~(?=\/|$)/, home));
    const real = realFolder(path);
    if (real !== undefined) return [path, real];
    return isAbsolute(part) || /^(?:\.|~\/)/.test(part) ? [path] : [];
  });
  return [...new Set(found)];
}

function toParts(word: string): string[] {
  const value = word.replace(/^-[^=]*(?:=|$)/, '').replace(/^file:\/\/(?=\/)/, '');
  return [value, ...value.split(/[:;,]/)].filter((part) => part !== '' && !part.startsWith('//'));
}

/** What cannot be looked at is no folder: most words of a configuration are none. */
function realFolder(path: string): string | undefined {
  try {
    const real = realpathSync(path);
    return statSync(real).isDirectory() ? real : undefined;
  } catch {
    return undefined;
  }
}
