// zod's issues in our words: what is wrong at which key, and what to write instead. The words come
// from the schema, never from the value: a text may be a secret. A message that the schema brings
// itself is kept; its fix stands in `params.fix`.

import { closestWord } from '@starloom/core';
import { z } from 'zod';
import { hasPath, type KeyPath, toKey, valueAt } from './key-path.ts';
import type { ConfigSchemaProblem } from './problem.ts';
import {
  alternativesOf,
  childrenOf,
  descriptionOf,
  keysOf,
  type Schema,
  schemasAt,
  wordsOf,
} from './schema-shape.ts';

type Issue = z.core.$ZodIssue;

/** Given to `safeParse` as the message of every issue that the schema has no words for. */
export const UNWORDED = '';

export function toSchemaProblems(
  issues: readonly Issue[],
  schema: Schema,
  root: unknown,
): ConfigSchemaProblem[] {
  const problems = issues.flatMap((issue) =>
    toProblems(issue, issue.path as KeyPath, schema, root),
  );
  const meant = new Set(problems.map((problem) => problem.meant && toKey(problem.meant)));
  return problems.filter(({ path }) => hasPath(root, path) || !meant.has(toKey(path)));
}

function toProblems(
  issue: Issue,
  path: KeyPath,
  schema: Schema,
  root: unknown,
): ConfigSchemaProblem[] {
  const schemas = schemasAt(schema, path, root);
  if (issue.message !== UNWORDED) {
    return [{ path, at: 'value', message: issue.message, fix: ownFix(issue, path, schemas, root) }];
  }
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownKey([...path, key], schemas, schema, root));
    case 'invalid_key': {
      const words = issue.issues.find(({ message }) => message !== UNWORDED)?.message;
      const message = words === undefined ? 'this name is not allowed' : `name: ${words}`;
      return [{ path, at: 'key', message, fix: 'rename the key' }];
    }
    case 'invalid_union': {
      const branch = furthest(issue.errors);
      if (branch === undefined) return [wrongValue(path, schemas, root)];
      return branch.flatMap((inner) =>
        toProblems(inner, [...path, ...(inner.path as KeyPath)], schema, root),
      );
    }
    case 'too_small':
    case 'too_big':
      return [outOfBounds(issue, path, schemas, root)];
    default:
      return [wrongValue(path, schemas, root)];
  }
}

function wrongValue(path: KeyPath, schemas: readonly Schema[], root: unknown): ConfigSchemaProblem {
  const expected = expectationOf(schemas);
  const value = valueAt(root, path);
  const about = aboutOf(schemas);
  const hint = about === undefined ? '' : ` (${about})`;
  if (!hasPath(root, path)) {
    const fix = `add ${nameAt(path)}: ${expected}${hint}`;
    return { path, at: 'key', message: `missing; expected ${expected}`, fix };
  }
  const meant =
    typeof value === 'string' ? closestWord(value, schemas.flatMap(wordsOf)) : undefined;
  if (meant !== undefined) {
    const message = `expected ${expected}; did you mean ${JSON.stringify(meant)}?`;
    return { path, at: 'value', message, fix: `write ${JSON.stringify(meant)}` };
  }
  const isOtherWord = typeof value === 'string' && schemas.flatMap(wordsOf).length > 0;
  const got = isOtherWord ? '' : `, got ${kindOf(value)}`;
  const message = `expected ${expected}${got}`;
  return { path, at: 'value', message, fix: fixFor(schemas, value, `write ${expected}${hint}`) };
}

/** The usual slips of YAML: quotes too few or too many, a list forgotten, no value at all. */
function fixFor(schemas: readonly Schema[], value: unknown, otherwise: string): string {
  const expected = expectationOf(schemas);
  if (value === null) return 'give it a value, or remove the key';
  if (typeof value !== 'string') {
    const isScalar = typeof value === 'number' || typeof value === 'boolean';
    return isScalar && expected === 'a string' ? 'put the value in quotes' : otherwise;
  }
  if (expected === 'true or false') return 'write true or false, without quotes';
  if (/number/.test(expected)) return `write ${expected}, without quotes and units`;
  if (expected === 'a list') return 'write a list: [first, second]';
  const keys = expected === 'a map' ? schemas.flatMap((schema) => keysOf(schema)) : [];
  return keys.length > 0 ? `write the keys below it: ${keys.join(', ')}` : otherwise;
}

function outOfBounds(
  issue: Extract<Issue, { code: 'too_small' | 'too_big' }>,
  path: KeyPath,
  schemas: readonly Schema[],
  root: unknown,
): ConfigSchemaProblem {
  const small = issue.code === 'too_small';
  const bound = Number(small ? issue.minimum : issue.maximum);
  const limit = `${small ? 'at least' : 'at most'} ${bound}`;
  if (issue.origin === 'string') {
    const empty = small && valueAt(root, path) === '';
    const message = empty ? 'must not be empty' : `must have ${limit} characters`;
    return { path, at: 'value', message, fix: `write a text of ${limit} characters` };
  }
  if (issue.origin === 'array' || issue.origin === 'set') {
    return { path, at: 'value', message: `needs ${limit} entries`, fix: `list ${limit} entries` };
  }
  const expected = expectationOf(schemas);
  const message = `expected ${expected}, got ${kindOf(valueAt(root, path))}`;
  return { path, at: 'value', message, fix: `write ${expected}` };
}

/** Of a union's branches, the one that came furthest; none when all failed at the value itself. */
function furthest(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const depth = (issues: readonly Issue[]) => Math.max(...issues.map(reach));
  const inner = branches.filter((issues) => issues.length > 0 && depth(issues) > 0);
  return inner.toSorted((one, other) => depth(other) - depth(one))[0];
}

function reach(issue: Issue): number {
  if (issue.message !== UNWORDED) return issue.path.length + 0.5;
  const structural = issue.code === 'invalid_type' || issue.code === 'invalid_value';
  return issue.path.length + (structural ? 0 : 0.5);
}

function ownFix(issue: Issue, path: KeyPath, schemas: readonly Schema[], root: unknown): string {
  const fix = issue.code === 'custom' ? issue.params?.fix : undefined;
  if (typeof fix === 'string') return fix;
  if (issue.message.startsWith('expected ')) return `write ${issue.message.slice(9)}`;
  const about = aboutOf(schemas);
  if (!hasPath(root, path)) return `add ${nameAt(path)}: ${about ?? expectationOf(schemas)}`;
  return about === undefined ? 'change it' : `change it: ${about}`;
}

function nameAt(path: KeyPath): string {
  return JSON.stringify(String(path.at(-1) ?? ''));
}

function aboutOf(schemas: readonly Schema[]): string | undefined {
  return schemas.length === 1 ? schemas.map(descriptionOf)[0] : undefined;
}

const MAX_LISTED_KEYS = 16;
const MAX_HOME_DEPTH = 3;

/** A key that no schema knows: what it was probably meant to be, or where it belongs. */
function unknownKey(
  path: KeyPath,
  siblings: readonly Schema[],
  schema: Schema,
  root: unknown,
): ConfigSchemaProblem {
  const name = String(path.at(-1));
  const parent = valueAt(root, path.slice(0, -1));
  const known = siblings.flatMap((sibling) => keysOf(sibling, parent));
  const unused = known.filter((key) => !hasPath(parent, [key]));
  const word = closestWord(name, unused);
  if (word !== undefined) {
    const message = `unknown key; did you mean ${JSON.stringify(word)}?`;
    const meant = [...path.slice(0, -1), word];
    return { path, at: 'key', message, fix: `rename it to ${JSON.stringify(word)}`, meant };
  }
  const isListed = known.length > 0 && known.length <= MAX_LISTED_KEYS;
  const listed = isListed ? `; known keys: ${known.join(', ')}` : '';
  if (siblings.some((sibling) => keysOf(sibling).includes(name))) {
    const message = `unknown key for this kind${listed}`;
    return { path, at: 'key', message, fix: 'remove it, or change the kind' };
  }
  const home = findHome(schema, name, root);
  if (home !== undefined) {
    const message = `unknown key here; did you mean ${toKey(home)}?`;
    return { path, at: 'key', message, fix: `move it to ${toKey(home)}` };
  }
  return { path, at: 'key', message: `unknown key${listed}`, fix: 'remove it' };
}

/** Where a key of this very name belongs, when it stands in the wrong map. */
function findHome(
  schema: Schema,
  name: string,
  root: unknown,
  path: KeyPath = [],
): KeyPath | undefined {
  if (path.length > MAX_HOME_DEPTH) return undefined;
  const value = valueAt(root, path);
  const keys = keysOf(schema, value);
  if (keys.includes(name) && path.length > 0) return [...path, name];
  for (const key of keys) {
    for (const child of childrenOf(schema, key, value)) {
      const home = findHome(child, name, root, [...path, key]);
      if (home !== undefined) return home;
    }
  }
  return undefined;
}

/** What the schemas take, for people: `a whole number from 0 to 65535`, `"dots" or "underscores"`. */
function expectationOf(schemas: readonly Schema[]): string {
  const parts = schemas.flatMap(alternativesOf).flatMap((alternative) => {
    const words = wordsOf(alternative);
    return words.length > 0 ? words.map((word) => JSON.stringify(word)) : nameOf(alternative);
  });
  return toChoice([...new Set(parts)]);
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'nothing (null)';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return value === '' ? 'an empty string' : 'a string';
  if (typeof value === 'object') return value instanceof Date ? 'a date' : 'a map';
  return `the ${typeof value} ${String(value)}`;
}

function toChoice(parts: readonly string[]): string {
  if (parts.length < 2) return parts[0] ?? 'a value';
  return `${parts.slice(0, -1).join(', ')} or ${parts.at(-1)}`;
}

function nameOf(alternative: ReturnType<typeof alternativesOf>[number]): string {
  const { type } = alternative._zod.def;
  if (type === 'string') return jsonSchemaOf(alternative).format === 'uri' ? 'a URL' : 'a string';
  if (type === 'number') return numberName(jsonSchemaOf(alternative));
  return KINDS[type] ?? 'a value';
}

const KINDS: Readonly<Record<string, string>> = {
  ...{ boolean: 'true or false', null: 'null' },
  ...{ array: 'a list', tuple: 'a list', object: 'a map', record: 'a map' },
};

/** zod's own reading of a schema's checks. */
function jsonSchemaOf(schema: Schema): z.core.JSONSchema.BaseSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
}

function numberName(json: z.core.JSONSchema.BaseSchema): string {
  const { type, minimum, exclusiveMinimum, maximum } = json;
  const whole = type === 'integer';
  const kind = whole ? 'a whole number' : 'a number';
  const above =
    typeof exclusiveMinimum === 'number' ? exclusiveMinimum + (whole ? 1 : 0) : undefined;
  const lowest = toBound(minimum) ?? toBound(above);
  const highest = toBound(maximum);
  if (lowest !== undefined && highest !== undefined) return `${kind} from ${lowest} to ${highest}`;
  if (lowest !== undefined) return `${kind} of at least ${lowest}`;
  return highest === undefined ? kind : `${kind} of at most ${highest}`;
}

/** A bound that the schema sets, not the end of the safe integers. */
function toBound(bound: number | undefined): number | undefined {
  return bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined;
}
