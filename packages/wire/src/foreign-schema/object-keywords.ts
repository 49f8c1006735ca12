// Keywords of objects, beside the frequent ones. A key of the value is read only where the value itself has it.

import { isObject } from '@starloom/core';
import {
  type Members,
  otherPropertiesCheck,
  propertiesCheck,
  refuseKey,
  requiredCheck,
} from './frequent-keywords.ts';
import { type Compiler, fieldsOf, numberOf, type SchemaFields } from './schema-fields.ts';
import type { Check } from './validation.ts';

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
