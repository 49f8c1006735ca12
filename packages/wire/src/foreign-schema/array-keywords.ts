// Keywords of arrays. `items` as a list, with `additionalItems`, is how older drafts write
// `prefixItems` and `items`.

import { toKey } from './any-keywords.ts';
import { type Compiler, numberOf, type SchemaFields } from './schema-fields.ts';
import { type Check, sizeOf } from './validation.ts';

/** In units of work. */
const MAX_WRITTEN = 4_096;

export function arrayChecks(schema: SchemaFields, compiler: Compiler): Check[] {
  return [
    countCheck(schema),
    itemsCheck(schema, compiler),
    containsCheck(schema, compiler),
    uniqueCheck(schema),
  ].flatMap((check) => check ?? []);
}

export function unevaluatedItemsCheck(
  { unevaluatedItems }: SchemaFields,
  compiler: Compiler,
): Check | undefined {
  if (unevaluatedItems === undefined) return undefined;
  const check = compiler.schema('unevaluatedItems', unevaluatedItems);
  return (value, validation, seen) => {
    if (!Array.isArray(value)) return true;
    for (let at = 0; at < value.length; at += 1) {
      validation.spend(1);
      if (seen?.has(at)) continue;
      if (!validation.inside(at, value[at], check)) return false;
      seen?.add(at);
    }
    return true;
  };
}

function countCheck({ minItems, maxItems }: SchemaFields): Check | undefined {
  if (minItems === undefined && maxItems === undefined) return undefined;
  const least = minItems === undefined ? 0 : numberOf('minItems', minItems, 0);
  const most = maxItems === undefined ? Infinity : numberOf('maxItems', maxItems, 0);
  return (value, validation) => {
    const { length } = value as unknown[];
    if (length < least) return validation.fail(`must NOT have fewer than ${least} items`);
    return length <= most || validation.fail(`must NOT have more than ${most} items`);
  };
}

function itemsCheck(schema: SchemaFields, compiler: Compiler): Check | undefined {
  const isOlder = Array.isArray(schema.items);
  const first = (isOlder ? schema.items : schema.prefixItems) ?? [];
  const rest = isOlder ? schema.additionalItems : schema.items;
  const firstChecks = compiler.schemas('prefixItems', first);
  const restCheck = rest === undefined ? undefined : compiler.schema('items', rest);
  if (firstChecks.length === 0 && !restCheck) return undefined;
  return (value, validation, seen) => {
    const items = value as unknown[];
    const length = restCheck ? items.length : Math.min(items.length, firstChecks.length);
    validation.spend(length);
    for (let at = 0; at < length; at += 1) {
      const check = firstChecks[at] ?? restCheck;
      if (check && !validation.inside(at, items[at], check)) return false;
      seen?.add(at);
    }
    return true;
  };
}

function containsCheck(schema: SchemaFields, compiler: Compiler): Check | undefined {
  if (schema.contains === undefined) return undefined;
  const check = compiler.schema('contains', schema.contains);
  const { minContains, maxContains } = schema;
  const least = minContains === undefined ? 1 : numberOf('minContains', minContains, 0);
  const most = maxContains === undefined ? Infinity : numberOf('maxContains', maxContains, 0);
  return (value, validation, seen) => {
    const { undecided } = validation;
    const items = value as unknown[];
    let fitting = 0;
    for (let at = 0; at < items.length; at += 1) {
      validation.spend(1);
      if (!validation.quietly(check, items[at], undefined)) continue;
      fitting += 1;
      seen?.add(at);
    }
    if (fitting < least) return validation.fail(`must contain at least ${least} valid item(s)`);
    if (fitting <= most || validation.undecided !== undecided) return true;
    return validation.fail(`must contain at most ${most} valid item(s)`);
  };
}

/**
 * Items are compared by their canonical text: linear, where comparing pairs is not. To write thousands
 * of such texts still takes long: after so many, the rest is left to the agent.
 */
function uniqueCheck({ uniqueItems }: SchemaFields): Check | undefined {
  if (uniqueItems !== true) return undefined;
  return (value, validation) => {
    const items = value as unknown[];
    const known = new Set<unknown>();
    let written = 0;
    for (let at = 0; at < items.length; at += 1) {
      const item = items[at];
      const size = sizeOf(item);
      validation.spend(size);
      const isPlain = typeof item !== 'object' || item === null;
      if (!isPlain) written += size;
      if (written > MAX_WRITTEN) {
        validation.undecided += 1;
        return true;
      }
      // No plain text begins with this character as a member of the set.
      const key = isPlain ? (typeof item === 'string' ? `"${item}` : item) : toKey(item);
      if (known.has(key)) {
        return validation.fail(`must NOT have duplicate items (item ${at} is there twice)`);
      }
      known.add(key);
    }
    return true;
  };
}
