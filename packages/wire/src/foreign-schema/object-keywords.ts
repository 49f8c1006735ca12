// Keywords of objects. A key of the value is read only where the value itself has it.

import { isObject } from '@starloom/core';
import {
  type Check,
  type Compiler,
  fieldsOf,
  namesOf,
  numberOf,
  type SchemaFields,
  type Validation,
} from './validation.ts';

type Members = Readonly<Record<string, unknown>>;

export function objectChecks(schema: SchemaFields, compiler: Compiler): Check[] {
  return [
    requiredCheck(schema),
    countCheck(schema),
    propertiesCheck(schema, compiler),
    otherPropertiesCheck(schema, compiler),
    namesCheck(schema, compiler),
    ...dependentChecks(schema, compiler),
  ].flatMap((check) => check ?? []);
}

export function unevaluatedPropertiesCheck(
  { unevaluatedProperties }: SchemaFields,
  compiler: Compiler,
): Check | undefined {
  if (unevaluatedProperties === undefined) return undefined;
  const check = compiler.schema('unevaluatedProperties', unevaluatedProperties);
  const isRefused = unevaluatedProperties === false;
  return (value, validation, seen) => {
    if (!isObject(value)) return true;
    for (const key of Object.keys(value)) {
      validation.spend(1);
      if (seen?.has(key)) continue;
      if (isRefused) return refuseKey(key, validation);
      if (!validation.inside(key, value[key], check)) return false;
      seen?.add(key);
    }
    return true;
  };
}

function requiredCheck({ required }: SchemaFields): Check | undefined {
  // Until draft 3 a flag of the property itself.
  if (required === undefined || typeof required === 'boolean') return undefined;
  const names = namesOf('required', required);
  return (value, validation) => {
    validation.spend(names.length / 8);
    for (const name of names) {
      if (!Object.hasOwn(value as Members, name)) return refuseMissing(name, validation);
    }
    return true;
  };
}

function countCheck({ minProperties, maxProperties }: SchemaFields): Check | undefined {
  if (minProperties === undefined && maxProperties === undefined) return undefined;
  const least = minProperties === undefined ? 0 : numberOf('minProperties', minProperties, 0);
  const most = maxProperties === undefined ? Infinity : numberOf('maxProperties', maxProperties, 0);
  return (value, validation) => {
    const { length } = Object.keys(value as Members);
    validation.spend(length / 8);
    if (length < least) return validation.fail(`must NOT have fewer than ${least} properties`);
    return length <= most || validation.fail(`must NOT have more than ${most} properties`);
  };
}

function propertiesCheck({ properties }: SchemaFields, compiler: Compiler) {
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
function otherPropertiesCheck(schema: SchemaFields, compiler: Compiler): Check | undefined {
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

function namesCheck({ propertyNames }: SchemaFields, compiler: Compiler): Check | undefined {
  if (propertyNames === undefined) return undefined;
  const check = compiler.schema('propertyNames', propertyNames);
  return (value, validation) => {
    for (const key of Object.keys(value as Members)) {
      validation.spend(1);
      if (!check(key, validation, undefined)) return validation.fail('property name must be valid');
    }
    return true;
  };
}

/** `dependencies` is how older drafts write both of the others. */
function dependentChecks(schema: SchemaFields, compiler: Compiler): Check[] {
  const all = ['dependentRequired', 'dependentSchemas', 'dependencies'].flatMap((keyword) =>
    Object.entries(fieldsOf(keyword, schema[keyword] ?? {})).map(([key, then]) => ({ key, then })),
  );
  return all.map(({ key, then }): Check => {
    const check = Array.isArray(then)
      ? requiredCheck({ required: then })
      : compiler.schema('dependentSchemas', then);
    return (value, validation, seen) => {
      validation.spend(1);
      return !check || !Object.hasOwn(value as Members, key) || check(value, validation, seen);
    };
  });
}

function refuseKey(key: string, validation: Validation): false {
  return validation.fail(`has no property "${key.slice(0, 100)}"`);
}

function refuseMissing(name: string, validation: Validation): false {
  return validation.fail(`must have required property '${name.slice(0, 100)}'`);
}
