import { hasPath, isContainer, isMap, type KeyPath, toKey, valueAt } from './key-path.ts';
import { type Origin, showOrigin } from './origin.ts';
import type { Problem } from './problem.ts';
import { defaultOf, type Schema, schemasAt } from './schema-shape.ts';

/** A value that stands above the file's, from a variable or a flag. */
export interface Override {
  readonly path: KeyPath;
  readonly value: unknown;
  readonly origin: Extract<Origin, { kind: 'env' | 'flag' }>;
}

/**
 * The values of the file with the overrides put in, in their order. A map that the file does not
 * have starts from the schema's default, so that `coordination.heartbeat_interval_ms` alone is
 * enough. Where the file has no map to put a value into, the file's own mistake is left to speak.
 */
export function applyOverrides(
  root: unknown,
  overrides: readonly Override[],
  schema: Schema,
): { value: unknown; problems: Problem[] } {
  const problems: Problem[] = [];
  const value = root === undefined && overrides.length > 0 ? {} : root;
  for (const override of overrides) {
    if (put(value, override, schema)) continue;
    const message = 'the list has no such entry';
    const fix = 'count entries from 0, without gaps';
    problems.push({ file: showOrigin(override.origin), key: toKey(override.path), message, fix });
  }
  return { value, problems };
}

function put(root: unknown, { path, value }: Override, schema: Schema): boolean {
  for (let length = 1; length < path.length; length++) {
    const parent = path.slice(0, length);
    if (hasPath(root, parent)) continue;
    if (!assign(root, parent, emptyFor(path[length], schema, parent, root))) return false;
  }
  return assign(root, path, value);
}

function emptyFor(
  next: string | number | undefined,
  schema: Schema,
  path: KeyPath,
  root: unknown,
): unknown {
  const [given] = schemasAt(schema, path, root).map(defaultOf);
  if (isMap(given)) return { ...given };
  return typeof next === 'number' ? [] : {};
}

/** False only when a list has no room at that index. */
function assign(root: unknown, path: KeyPath, value: unknown): boolean {
  const parent = valueAt(root, path.slice(0, -1));
  const key = path.at(-1);
  if (key === undefined || !isContainer(parent)) return true;
  if (Array.isArray(parent) && Number(key) > parent.length) return false;
  parent[key] = value;
  return true;
}
