import { closestWord } from '@starloom/core';
import { hasPath, isContainer, isMap, type KeyPath, toKey, valueAt } from './key-path.ts';
import { type Origin, showOrigin } from './origins.ts';
import type { Problem } from './problem.ts';
import {
  accepts,
  childrenOf,
  defaultOf,
  isTextOnly,
  keysOf,
  type Schema,
  schemasAt,
} from './schema-shape.ts';
import { FORBIDDEN_KEYS } from './source.ts';

/** A value that stands above the file's, from a variable or a flag. */
export interface Override {
  readonly path: KeyPath;
  readonly value: unknown;
  readonly origin: Extract<Origin, { kind: 'env' | 'flag' }>;
}

/**
 * The values of the file with the overrides put in, in their order. A map that the file does not
 * have starts from the schema's default, so that `coordination.heartbeat_interval_ms` alone is
 * enough. Where the file has no map to put a value into, the file's own mistake is left to speak.
 */
export function applyOverrides(
  root: unknown,
  overrides: readonly Override[],
  schema: Schema,
): { value: unknown; problems: Problem[] } {
  const problems: Problem[] = [];
  const value = root === undefined && overrides.length > 0 ? {} : root;
  for (const override of overrides) {
    if (put(value, override, schema)) continue;
    const message = 'the list has no such entry';
    const fix = 'count entries from 0, without gaps';
    problems.push({ file: showOrigin(override.origin), key: toKey(override.path), message, fix });
  }
  return { value, problems };
}

function put(root: unknown, { path, value }: Override, schema: Schema): boolean {
  for (let length = 1; length < path.length; length++) {
    const parent = path.slice(0, length);
    if (hasPath(root, parent)) continue;
    const [given] = schemasAt(schema, parent, root).map(defaultOf);
    const empty = typeof path[length] === 'number' ? [] : {};
    if (!assign(root, parent, isMap(given) ? { ...given } : empty)) return false;
  }
  return assign(root, path, value);
}

/** False only when a list has no room at that index. */
function assign(root: unknown, path: KeyPath, value: unknown): boolean {
  const parent = valueAt(root, path.slice(0, -1));
  const key = path.at(-1);
  if (key === undefined || !isContainer(parent)) return true;
  if (Array.isArray(parent) && Number(key) > parent.length) return false;
  parent[key] = value;
  return true;
}

// `STARLOOM_LISTEN__PORT=8080` stands above `listen.port`: two underscores go one level down, case
// does not matter, a number is an index. Only names with two underscores are overrides, so that
// STARLOOM_HOME, STARLOOM_CONFIG, STARLOOM_URL and STARLOOM_KEY are free to mean other things.

export async function readEnvOverrides(
  schema: Schema,
  env: Readonly<Record<string, string | undefined>>,
  prefix: string | undefined,
) {
  const overrides: Override[] = [];
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  if (prefix === undefined) return { overrides, problems, warnings };
  for (const name of Object.keys(env).sort()) {
    const text = env[name];
    if (text === undefined || !name.startsWith(`${prefix}_`) || !name.includes('__')) continue;
    const found = findKey(schema, name.slice(prefix.length + 1).split('__'));
    if ('unknown' in found) {
      problems.push(unknownName(name, prefix, found));
    } else if (text === '') {
      const key = toKey(found.path);
      const message = 'the variable is empty and was not used';
      warnings.push({ file: `$${name}`, key, message, fix: 'unset it, or give it a value' });
    } else {
      const value = await toValue(text, found.schemas, name);
      overrides.push({ path: found.path, value, origin: { kind: 'env', name } });
    }
  }
  return { overrides, problems, warnings };
}

type Found =
  | { path: KeyPath; schemas: readonly Schema[] }
  | { path: KeyPath; unknown: string; known: readonly string[] };

function findKey(schema: Schema, segments: readonly string[]): Found {
  let schemas: readonly Schema[] = [schema];
  const path: (string | number)[] = [];
  for (const segment of segments) {
    const known = schemas.flatMap((one) => keysOf(one));
    const key = matchKey(segment, known, schemas);
    if (key === undefined) return { path, unknown: segment.toLowerCase(), known };
    schemas = schemas.flatMap((one) => childrenOf(one, key));
    path.push(key);
  }
  return { path, schemas };
}

function matchKey(
  segment: string,
  known: readonly string[],
  schemas: readonly Schema[],
): string | number | undefined {
  const word = segment.toLowerCase();
  const named = known.find((key) => key.toLowerCase() === word);
  if (named !== undefined) return named;
  if (/^\d{1,4}$/.test(segment) && schemas.some((one) => accepts(one, 'array'))) {
    return Number(segment);
  }
  if (segment === '' || FORBIDDEN_KEYS.has(word)) return undefined;
  return schemas.some((one) => accepts(one, 'record')) ? segment : undefined;
}

function unknownName(
  name: string,
  prefix: string,
  { path, unknown, known }: Extract<Found, { unknown: string }>,
): Problem {
  const key = toKey([...path, unknown]);
  const meant = closestWord(unknown, known);
  if (meant === undefined) {
    const listed = known.length > 0 ? `; known keys: ${known.join(', ')}` : '';
    return { file: `$${name}`, key, message: `unknown key${listed}`, fix: `unset ${name}` };
  }
  const right = [prefix, [...path, meant].join('__').toUpperCase()].join('_');
  const message = `unknown key; did you mean ${right}?`;
  return { file: `$${name}`, key, message, fix: `rename ${name} to ${right}` };
}

/** YAML when the key takes more than text; text that is no YAML is left for the schema to judge. */
async function toValue(text: string, schemas: readonly Schema[], name: string): Promise<unknown> {
  if (schemas.every(isTextOnly)) return text;
  const { parseYaml } = await import('./parse-yaml.ts');
  const { value, problems } = parseYaml(text, `$${name}`);
  return problems.length > 0 || value === undefined ? text : value;
}
