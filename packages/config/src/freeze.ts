import { type KeyPath, toKey } from './key-path.ts';
import { Secret } from './secret.ts';

/** Puts the resolved secrets in their places, and freezes the value all the way down. */
export function freeze<T>(value: T, secrets: ReadonlyMap<string, Secret>, path: KeyPath = []): T {
  if (value instanceof Secret) return (secrets.get(toKey(path)) ?? value) as T & Secret;
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const entries = value as Record<string | number, unknown>;
  for (const key of Object.keys(entries)) {
    const segment = Array.isArray(value) ? Number(key) : key;
    entries[key] = freeze(entries[key], secrets, [...path, segment]);
  }
  return Object.freeze(value);
}
