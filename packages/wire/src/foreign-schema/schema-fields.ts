// The values of keywords, as far as a schema may give them.

import { SchemaProblem } from './schema-problem.ts';

export type SchemaFields = Readonly<Record<string, unknown>>;

export function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

export function fieldsOf(keyword: string, value: unknown): SchemaFields {
  if (jsonTypeOf(value) === 'object') return value as SchemaFields;
  throw new SchemaProblem(`"${shown(keyword)}" must be an object`);
}

export function listOf(keyword: string, value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  throw new SchemaProblem(`"${shown(keyword)}" must be an array`);
}

export function namesOf(keyword: string, value: unknown): string[] {
  const names = listOf(keyword, value);
  if (names.every((name) => typeof name === 'string')) return names;
  throw new SchemaProblem(`"${shown(keyword)}" must be an array of strings`);
}

export function numberOf(keyword: string, value: unknown, least = -Infinity): number {
  if (typeof value === 'number' && value >= least) return value;
  throw new SchemaProblem(`"${shown(keyword)}" must be a number that fits the keyword`);
}

function shown(keyword: string): string {
  return keyword.slice(0, 100);
}
