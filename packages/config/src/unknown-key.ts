import { closestWord } from '@starloom/core';
import { hasPath, type KeyPath, toKey, valueAt } from './key-path.ts';
import type { ConfigSchemaProblem } from './problem.ts';
import { childrenOf, keysOf, type Schema } from './schema-shape.ts';

const MAX_LISTED_KEYS = 16;
const MAX_HOME_DEPTH = 3;

/** A key that no schema knows: what it was probably meant to be, or where it belongs. */
export function unknownKey(
  path: KeyPath,
  siblings: readonly Schema[],
  schema: Schema,
  root: unknown,
): ConfigSchemaProblem {
  const name = String(path.at(-1));
  const parent = valueAt(root, path.slice(0, -1));
  const known = siblings.flatMap((sibling) => keysOf(sibling, parent));
  const unused = known.filter((key) => !hasPath(parent, [key]));
  const word = closestWord(name, unused);
  if (word !== undefined) {
    const message = `unknown key; did you mean ${JSON.stringify(word)}?`;
    const meant = [...path.slice(0, -1), word];
    return { path, at: 'key', message, fix: `rename it to ${JSON.stringify(word)}`, meant };
  }
  const listed =
    known.length > 0 && known.length <= MAX_LISTED_KEYS ? `; known keys: ${known.join(', ')}` : '';
  if (siblings.some((sibling) => keysOf(sibling).includes(name))) {
    const message = `unknown key for this kind${listed}`;
    return { path, at: 'key', message, fix: 'remove it, or change the kind' };
  }
  const home = findHome(schema, name, root);
  if (home !== undefined) {
    const message = `unknown key here; did you mean ${toKey(home)}?`;
    return { path, at: 'key', message, fix: `move it to ${toKey(home)}` };
  }
  return { path, at: 'key', message: `unknown key${listed}`, fix: 'remove it' };
}

/** Where a key of this very name belongs, when it stands in the wrong map. */
function findHome(
  schema: Schema,
  name: string,
  root: unknown,
  path: KeyPath = [],
): KeyPath | undefined {
  if (path.length > MAX_HOME_DEPTH) return undefined;
  const value = valueAt(root, path);
  const keys = keysOf(schema, value);
  if (keys.includes(name) && path.length > 0) return [...path, name];
  for (const key of keys) {
    for (const child of childrenOf(schema, key, value)) {
      const home = findHome(child, name, root, [...path, key]);
      if (home !== undefined) return home;
    }
  }
  return undefined;
}
