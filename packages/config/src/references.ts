import { Secret } from './secret.ts';

/** The value with each Secret as the reference that names it. */
export function toReferences(value: unknown): unknown {
  if (value instanceof Secret) return value.reference;
  if (Array.isArray(value)) return value.map(toReferences);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toReferences(item)]));
}
