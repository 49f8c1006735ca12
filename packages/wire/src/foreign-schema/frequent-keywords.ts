// The keywords that nearly every schema of a tool has: those that name the properties of an object, and
// the length of strings. A key of the value is read only where the value itself has it.

import { isObject } from '@starloom/core';
import { type Compiler, fieldsOf, namesOf, numberOf, type SchemaFields } from './schema-fields.ts';
import type { Check, Validation } from './validation.ts';

export type Members = Readonly<Record<string, unknown>>;

export function requiredCheck({ required }: SchemaFields): Check | undefined {
  // Until draft 3 a flag of the property itself.
  if (required === undefined || typeof required === 'boolean') return undefined;
  const names = namesOf('required', required);
  return (value, validation) => {
    validation.spend(names.length / 8);
    for (const name of names) {
      if (Object.hasOwn(value as Members, name)) continue;
      return validation.fail(`must have required property '${name.slice(0, 100)}'`);
    }
    return true;
  };
}

export function propertiesCheck({ properties }: SchemaFields, compiler: Compiler) {
  if (properties === undefined) return undefined;
  const checks = Object.entries(fieldsOf('properties', properties))
    .toSorted(([, one], [, other]) => rankOf(one) - rankOf(other))
    .map(([key, schema]) => [key, compiler.schema(key, schema)] as const);
  const check: Check = (value, validation, seen) => {
    validation.spend(checks.length / 8);
    const members = value as Members;
    for (const [key, each] of checks) {
      if (!Object.hasOwn(members, key)) continue;
      if (!validation.inside(key, members[key], each)) return false;
      seen?.add(key);
    }
    return true;
  };
  return check;
}

/** Properties that distinguish the branches of a union come first, so that only one branch is checked in full. */
function rankOf(schema: unknown): number {
  return isObject(schema) && 'const' in schema ? 0 : 1;
}

/** `patternProperties`, and `additionalProperties` for keys that nothing else names. */
export function otherPropertiesCheck(schema: SchemaFields, compiler: Compiler): Check | undefined {
  const { patternProperties, additionalProperties: additional } = schema;
  if (patternProperties === undefined && additional === undefined) return undefined;
  const patterns = Object.entries(fieldsOf('patternProperties', patternProperties ?? {})).map(
    ([source, each]) => ({
      test: compiler.pattern(source),
      check: compiler.schema('patternProperties', each),
    }),
  );
  const named = new Set(Object.keys(fieldsOf('properties', schema.properties ?? {})));
  const rest =
    additional === undefined ? undefined : compiler.schema('additionalProperties', additional);
  return (value, validation, seen) => {
    const members = value as Members;
    for (const key of Object.keys(members)) {
      validation.spend(1 + patterns.length);
      let isNamed = named.has(key);
      for (const { test, check } of patterns) {
        const verdict = test(key, validation);
        if (verdict === true && !validation.inside(key, members[key], check)) return false;
        // A key that may be named by a pattern is not judged as one that is not.
        if (verdict !== false) isNamed = true;
        if (verdict !== false) seen?.add(key);
      }
      if (isNamed || !rest) continue;
      if (additional === false) return refuseKey(key, validation);
      if (!validation.inside(key, members[key], rest)) return false;
      seen?.add(key);
    }
    return true;
  };
}

export function lengthCheck({ minLength, maxLength }: SchemaFields): Check | undefined {
  if (minLength === undefined && maxLength === undefined) return undefined;
  const least = minLength === undefined ? 0 : numberOf('minLength', minLength, 0);
  const most = maxLength === undefined ? Infinity : numberOf('maxLength', maxLength, 0);
  return (value, validation) => {
    const text = value as string;
    // A code point takes one or two code units, so counting is rarely needed.
    const isSure = text.length <= most && (least === 0 || text.length >= 2 * least);
    const length = isSure ? text.length : codePointsIn(text);
    if (!isSure) validation.spend(text.length / 16);
    if (length < least) return validation.fail(`must NOT have fewer than ${least} characters`);
    if (length > most) return validation.fail(`must NOT have more than ${most} characters`);
    return true;
  };
}

function codePointsIn(text: string): number {
  let pairs = 0;
  for (let at = 1; at < text.length; at += 1) {
    const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00;
    if (isLow && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) pairs += 1;
  }
  return text.length - pairs;
}

export function refuseKey(key: string, validation: Validation): false {
  return validation.fail(`has no property "${key.slice(0, 100)}"`);
}
