// What keywords read from a schema, and what they need of the compiler.

import { isObject } from '@starloom/core';
import type { Check, Validation } from './validation.ts';

/** What a keyword needs of the compiler: the schemas and patterns it applies, as checks. */
export interface Compiler {
  schema(keyword: string, schema: unknown): Check;
  schemas(keyword: string, schemas: unknown): Check[];
  reference(reference: unknown, from: SchemaFields): Check;
  pattern(source: unknown): PatternTest;
}

/** `undefined`: cannot be decided here. */
export type PatternTest = (text: string, validation: Validation) => boolean | undefined;

export type SchemaFields = Readonly<Record<string, unknown>>;

export function fieldsOf(keyword: string, value: unknown): SchemaFields {
  if (isObject(value)) return value;
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

/** Why a schema cannot be used. */
export class SchemaProblem extends Error {}
