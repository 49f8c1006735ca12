import { hasPath, isContainer, isMap, type KeyPath, toKey, valueAt } from './key-path.ts';
import type { Override } from './overrides.ts';
import type { Problem } from './problem.ts';
import type { EntryPosition } from './source.ts';

export type Origin =
  | { readonly kind: 'file'; readonly file: string; readonly line: number; readonly column: number }
  | { readonly kind: 'env' | 'flag'; readonly name: string }
  | { readonly kind: 'default' };

/** `starloom.yaml:4:3`, `$STARLOOM_LISTEN__PORT`, `--port`, `default`. */
export function showOrigin(origin: Origin): string {
  if (origin.kind === 'default') return 'default';
  if (origin.kind === 'file') return `${origin.file}:${origin.line}:${origin.column}`;
  return origin.kind === 'env' ? `$${origin.name}` : origin.name;
}

/** What the loader knows of the way a configuration was put together. */
export interface Layers {
  /** As shown to people; absent when there is no file. */
  readonly file: string | undefined;
  readonly positions: ReadonlyMap<string, EntryPosition>;
  readonly overrides: readonly Override[];
  /** File and overrides together, before defaults. */
  readonly root: unknown;
}

/** The origin of every value that has no values inside it. */
export function originsOf(value: unknown, layers: Layers): Map<string, Origin> {
  const origins = new Map<string, Origin>();
  for (const path of leavesOf(value)) origins.set(toKey(path), originOf(path, layers));
  return origins;
}

/** The parts of a value whose origin is wanted; maps and lists without any are left out. */
export function pickByOrigin(
  value: unknown,
  origins: ReadonlyMap<string, Origin>,
  isWanted: (origin: Origin) => boolean,
): unknown {
  return pick(value, []) ?? {};

  function pick(part: unknown, path: KeyPath): unknown {
    const origin = origins.get(toKey(path));
    if (origin !== undefined) return isWanted(origin) ? part : undefined;
    if (Array.isArray(part)) {
      const items = part.map((item, index) => pick(item, [...path, index]));
      return items.some((item) => item !== undefined) ? items : undefined;
    }
    if (!isMap(part)) return undefined;
    const entries = Object.entries(part)
      .map(([key, item]) => [key, pick(item, [...path, key])] as const)
      .filter(([, item]) => item !== undefined);
    return entries.length > 0 ? Object.fromEntries(entries) : undefined;
  }
}

/** The place a problem at `path` is shown at: its own, or the nearest around it. */
export function placeFor(
  path: KeyPath,
  at: 'key' | 'value',
  layers: Layers,
): Pick<Problem, 'file' | 'line' | 'column'> {
  const { file, positions, overrides, root } = layers;
  const exists = hasPath(root, path);
  const override = exists ? overrideFor(overrides, path) : undefined;
  if (override !== undefined) return { file: showOrigin(override.origin) };
  const position = positions.get(toKey(path));
  if (exists && position !== undefined && file !== undefined) return { file, ...position[at] };
  if (path.length > 0) {
    const inside = exists ? overrideWithin(overrides, path) : undefined;
    if (inside !== undefined) return { file: showOrigin(inside.origin) };
    return placeFor(path.slice(0, -1), 'key', layers);
  }
  if (file !== undefined) return { file, line: 1, column: 1 };
  const any = overrideWithin(overrides, path);
  return { file: any === undefined ? 'built-in defaults' : showOrigin(any.origin) };
}

function originOf(path: KeyPath, layers: Layers): Origin {
  if (!hasPath(layers.root, path)) return { kind: 'default' };
  const override = overrideFor(layers.overrides, path);
  if (override !== undefined) return override.origin;
  const position = layers.positions.get(toKey(path));
  if (position === undefined || layers.file === undefined) return { kind: 'default' };
  return { kind: 'file', file: layers.file, ...position.value };
}

function* leavesOf(value: unknown, path: KeyPath = []): Generator<KeyPath> {
  const entries = isContainer(value) ? Object.keys(value) : [];
  if (entries.length === 0) yield path;
  for (const key of entries) {
    const segment = Array.isArray(value) ? Number(key) : key;
    yield* leavesOf(valueAt(value, [segment]), [...path, segment]);
  }
}

/** The last override that gives the entry at `path`, by itself or with an entry around it. */
function overrideFor(overrides: readonly Override[], path: KeyPath): Override | undefined {
  const key = toKey(path);
  return overrides.findLast((override) => covers(toKey(override.path), key));
}

/** An override of something inside the entry at `path`. */
function overrideWithin(overrides: readonly Override[], path: KeyPath): Override | undefined {
  const key = toKey(path);
  return overrides.find((override) => key === '' || covers(key, toKey(override.path)));
}

function covers(outer: string, inner: string): boolean {
  return inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
}
