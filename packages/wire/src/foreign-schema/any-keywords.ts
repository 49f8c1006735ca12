// Keywords that judge a value whatever its type: type, enum, const, and those that apply other
// schemas to the same value.

import { canonicalJson } from '@starloom/core';
import {
  type Compiler,
  listOf,
  namesOf,
  type SchemaFields,
  SchemaProblem,
} from './schema-fields.ts';
import { type Check, type Seen, sizeOf, type Validation } from './validation.ts';

const JSON_TYPES = ['string', 'number', 'boolean', 'object', 'array', 'null'] as const;

/** By type of the value: what `type` alone says of it. */
export function typeChecks({ type }: SchemaFields): Record<string, Check | undefined> {
  if (type === undefined) return Object.fromEntries(JSON_TYPES.map((each) => [each, undefined]));
  const types = new Set(namesOf('type', Array.isArray(type) ? type : [type]));
  const unknown = types.values().find((each) => each !== 'integer' && !isJsonType(each));
  if (unknown !== undefined) throw new SchemaProblem(`there is no type "${unknown.slice(0, 100)}"`);
  const message = `must be ${[...types].join(',')}`;
  const refuse: Check = (_, validation) => validation.fail(message);
  const checks = JSON_TYPES.map((each) => [each, types.has(each) ? undefined : refuse] as const);
  const isWhole: Check = (value, validation) => Number.isInteger(value) || validation.fail(message);
  const onlyWhole = types.has('integer') && !types.has('number');
  return { ...Object.fromEntries(checks), ...(onlyWhole && { number: isWhole }) };
}

function isJsonType(type: string): boolean {
  return (JSON_TYPES as readonly string[]).includes(type);
}

export function enumCheck({ enum: values }: SchemaFields): Check | undefined {
  if (values === undefined) return undefined;
  const isAllowed = memberCheck(listOf('enum', values));
  return (value, validation) =>
    isAllowed(value, validation) || validation.fail('must be equal to one of the allowed values');
}

export function constCheck(schema: SchemaFields): Check | undefined {
  if (!Object.hasOwn(schema, 'const')) return undefined;
  const isAllowed = memberCheck([schema.const]);
  return (value, validation) =>
    isAllowed(value, validation) || validation.fail('must be equal to constant');
}

/** Whether a value is among the given ones, however many they are. */
function memberCheck(values: readonly unknown[]): (value: unknown, to: Validation) => boolean {
  const plain = new Set(values.filter((value) => !isStructure(value)));
  const structures = new Set(values.filter(isStructure).map(toKey));
  return (value, validation) => {
    if (!isStructure(value)) return plain.has(value);
    if (structures.size === 0) return false;
    validation.spend(sizeOf(value));
    return structures.has(toKey(value));
  };
}

/** Equal for values that JSON Schema takes as equal. */
export function toKey(value: unknown): string {
  return canonicalJson(value, { loneSurrogates: 'escape' });
}

export function referenceCheck(schema: SchemaFields, compiler: Compiler): Check | undefined {
  const checks = [schema.$ref, schema.$dynamicRef].flatMap((reference) =>
    reference === undefined ? [] : [compiler.reference(reference, schema)],
  );
  const [first, second] = checks;
  if (!first || !second) return first;
  return (value, validation, seen) =>
    first(value, validation, seen) && second(value, validation, seen);
}

export function allOfCheck(schema: SchemaFields, compiler: Compiler): Check | undefined {
  if (schema.allOf === undefined) return undefined;
  const checks = branchesOf('allOf', schema, compiler);
  return (value, validation, seen) => checks.every((check) => check(value, validation, seen));
}

export function anyOfCheck(schema: SchemaFields, compiler: Compiler): Check | undefined {
  if (schema.anyOf === undefined) return undefined;
  const checks = branchesOf('anyOf', schema, compiler);
  return (value, validation, seen) => {
    const before = validation.problems.length;
    let isValid = false;
    for (const check of checks) {
      if (!applies(check, value, validation, seen)) continue;
      isValid = true;
      if (!seen) break;
    }
    if (!isValid) return validation.fail('must match a schema in anyOf');
    validation.problems.length = before;
    return true;
  };
}

export function oneOfCheck(schema: SchemaFields, compiler: Compiler): Check | undefined {
  if (schema.oneOf === undefined) return undefined;
  const checks = branchesOf('oneOf', schema, compiler);
  return (value, validation, seen) => {
    const { undecided } = validation;
    const before = validation.problems.length;
    let fitting = 0;
    for (const check of checks) {
      if (applies(check, value, validation, seen)) fitting += 1;
      if (fitting > 1 && validation.undecided === undecided) break;
    }
    if (fitting === 0) return validation.fail('must match exactly one schema in oneOf');
    validation.problems.length = before;
    if (fitting === 1 || validation.undecided !== undecided) return true;
    return validation.fail('must match exactly one schema in oneOf');
  };
}

export function notCheck(schema: SchemaFields, compiler: Compiler): Check | undefined {
  if (schema.not === undefined) return undefined;
  const check = compiler.schema('not', schema.not);
  return (value, validation) => {
    const { undecided } = validation;
    const fits = validation.quietly(check, value, undefined);
    return !fits || validation.undecided !== undecided || validation.fail('must NOT be valid');
  };
}

export function ifCheck(schema: SchemaFields, compiler: Compiler): Check | undefined {
  if (schema.if === undefined) return undefined;
  const [condition, whenTrue, whenFalse] = (['if', 'then', 'else'] as const).map((keyword) =>
    compiler.schema(keyword, schema[keyword] ?? true),
  ) as [Check, Check, Check];
  return (value, validation, seen) => {
    const { undecided, problems } = validation;
    const before = problems.length;
    const fits = applies(condition, value, validation, seen);
    problems.length = before;
    if (validation.undecided !== undecided) return true;
    return (fits ? whenTrue : whenFalse)(value, validation, seen);
  };
}

function branchesOf(keyword: string, schema: SchemaFields, compiler: Compiler): Check[] {
  const checks = compiler.schemas(keyword, schema[keyword]);
  if (checks.length > 0) return checks;
  throw new SchemaProblem(`"${keyword}" must not be empty`);
}

/** What a branch has seen counts when the branch fits. */
function applies(
  check: Check,
  value: unknown,
  validation: Validation,
  seen: Seen | undefined,
): boolean {
  if (!seen) return check(value, validation, undefined);
  const inner: Seen = new Set();
  if (!check(value, validation, inner)) return false;
  validation.spend(inner.size);
  for (const key of inner) seen.add(key);
  return true;
}

function isStructure(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
