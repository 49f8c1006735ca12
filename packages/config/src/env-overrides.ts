// `STARLOOM_LISTEN__PORT=8080` stands above `listen.port`: two underscores go one level down, case
// does not matter, a number is an index. Only names with two underscores are overrides, so that
// STARLOOM_HOME, STARLOOM_CONFIG, STARLOOM_URL and STARLOOM_KEY are free to mean other things.

import { closestWord } from '@starloom/core';
import { type KeyPath, toKey } from './key-path.ts';
import type { Override } from './overrides.ts';
import type { Problem } from './problem.ts';
import { accepts, childrenOf, isTextOnly, keysOf, type Schema } from './schema-shape.ts';
import { FORBIDDEN_KEYS } from './source.ts';

export interface EnvOverrides {
  readonly overrides: readonly Override[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

export async function readEnvOverrides(
  schema: Schema,
  env: Readonly<Record<string, string | undefined>>,
  prefix: string | undefined,
): Promise<EnvOverrides> {
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
