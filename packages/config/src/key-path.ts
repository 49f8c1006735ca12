export type KeyPath = readonly (string | number)[];

/** `auth.psk[0].key`; a key that is no plain word is quoted: `headers["x.y"]`. */
export function toKey(path: KeyPath): string {
  return path.reduce<string>((key, segment) => {
    if (typeof segment === 'number') return `${key}[${segment}]`;
    if (!/^[\w$-]+$/.test(segment)) return `${key}[${JSON.stringify(segment)}]`;
    return key === '' ? segment : `${key}.${segment}`;
  }, '');
}

export function hasPath(root: unknown, path: KeyPath): boolean {
  const parent = valueAt(root, path.slice(0, -1));
  const last = path.at(-1);
  if (last === undefined) return root !== undefined;
  return isContainer(parent) && Object.hasOwn(parent, last);
}

export function valueAt(root: unknown, path: KeyPath): unknown {
  return path.reduce<unknown>(
    (value, segment) =>
      isContainer(value) && Object.hasOwn(value, segment) ? value[segment] : undefined,
    root,
  );
}

export function isContainer(value: unknown): value is Record<string | number, unknown> {
  return Array.isArray(value) || isMap(value);
}

export function isMap(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  return Object.getPrototypeOf(value) === Object.prototype;
}
