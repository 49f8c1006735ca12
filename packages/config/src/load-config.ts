// The one way a file of ours is read: file → overrides from the environment and from flags →
// schema → secrets → one frozen value, with the origin of each part. Every problem found is
// reported at once, in the file's order, with its place and its fix.

import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { isMap, type KeyPath, toKey, valueAt } from './key-path.ts';
import { type Layers, type Origin, originsOf, placeFor } from './origins.ts';
import { applyOverrides, readEnvOverrides } from './overrides.ts';
import { type ConfigSchemaProblem, configError, inFileOrder, type Problem } from './problem.ts';
import { type ConfigFormat, NO_SOURCE, readSource } from './read-source.ts';
import { resolveSecrets } from './resolve-secrets.ts';
import { toSchemaProblems, UNWORDED } from './schema-problems.ts';
import { accepts, keysOf } from './schema-shape.ts';
import { freeze } from './secret.ts';

export interface LoadConfigOptions<S extends z.ZodType> {
  /** Absent: no file, only overrides and defaults. */
  readonly path?: string | undefined;
  readonly schema: S;
  /** Absent: by the name's ending. */
  readonly format?: ConfigFormat;
  /** Where a relative `path` begins, and relative secret files when there is no file. */
  readonly cwd?: string;
  /** For secrets, and for overrides when `envPrefix` is given. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** `STARLOOM` makes `STARLOOM_LISTEN__PORT` override `listen.port`. */
  readonly envPrefix?: string;
  /** Flags of the command line; they win over everything. */
  readonly flags?: readonly FlagOverride[];
  readonly missingFix?: string;
  /** False leaves secrets as references, for tools that run without the environment. */
  readonly resolveSecrets?: boolean;
  /** Parts of the value, as it was read, that other schemas describe: they are checked as well. */
  readonly parts?: (root: unknown) => readonly ConfigPart[];
}

/** A part that the schema of the whole leaves open; its schema adds no defaults here. */
export interface ConfigPart {
  readonly path: KeyPath;
  readonly schema: z.ZodType;
}

export interface FlagOverride {
  /** As typed, such as `--port`. */
  readonly name: string;
  readonly path: readonly string[];
  readonly value: unknown;
}

export interface LoadedConfig<T> {
  /** Frozen all the way down. */
  readonly value: T;
  /** By key, such as `listen.port` or `auth.psk[0].key`. */
  readonly origins: ReadonlyMap<string, Origin>;
  readonly warnings: readonly Problem[];
  /** As given; absent when there was none. */
  readonly file?: string;
  /** Where relative paths in the value begin. */
  readonly folder: string;
}

export async function loadConfig<S extends z.ZodType>(
  options: LoadConfigOptions<S>,
): Promise<LoadedConfig<z.output<S>>> {
  const { path: file, schema, cwd = process.cwd(), env = {} } = options;
  const folder = file === undefined ? cwd : dirname(resolve(cwd, file));

  const source = file === undefined ? NO_SOURCE : await readSource(file, { ...options, cwd });
  const variables = await readEnvOverrides(schema, env, options.envPrefix);
  const flags = (options.flags ?? []).map(({ name, path, value }) => {
    return { path, value, origin: { kind: 'flag' as const, name } };
  });
  const overrides = [...variables.overrides, ...flags];
  const base = startFrom(source.value, schema);
  const { value: root, problems: misplaced } = applyOverrides(base, overrides, schema);

  const parsed = schema.safeParse(root, { error: () => UNWORDED });
  const isEmpty = file !== undefined && source.value === undefined && overrides.length === 0;
  if (isEmpty && !parsed.success) throw configError([emptyFile(file, schema)]);
  const named = options.resolveSecrets === false ? undefined : root;
  const found = await resolveSecrets(schema, named, { env, folder });

  const layers: Layers = { file, positions: source.positions, overrides, root };
  const inPlace = ({ path, at, message, fix }: ConfigSchemaProblem): Problem => {
    return { ...placeFor(path, at, layers), key: toKey(path), message, fix };
  };
  const unplaced = [
    ...toSchemaProblems(parsed.error?.issues ?? [], schema, root),
    ...(options.parts?.(root) ?? []).flatMap((part) => problemsInPart(part, root)),
    ...found.problems,
  ];
  const problems = [...unplaced.map(inPlace), ...variables.problems, ...misplaced];
  if (!parsed.success || problems.length > 0) throw configError(inFileOrder(problems));

  const value = freeze(parsed.data, found.secrets);
  const warnings = [...found.warnings.map(inPlace), ...variables.warnings];
  const origins = originsOf(value, layers);
  return { value, origins, warnings, folder, ...(file === undefined ? {} : { file }) };
}

function problemsInPart({ path, schema }: ConfigPart, root: unknown): ConfigSchemaProblem[] {
  const value = valueAt(root, path) ?? {};
  const { error } = schema.safeParse(value, { error: () => UNWORDED });
  return toSchemaProblems(error?.issues ?? [], schema, value).map((problem) => ({
    ...problem,
    path: [...path, ...problem.path],
  }));
}

/** Nothing is an empty map where a map is wanted. `$schema` is for editors. */
function startFrom(value: unknown, schema: z.ZodType): unknown {
  if (value === undefined) return accepts(schema, 'object') ? {} : undefined;
  if (!isMap(value) || keysOf(schema).includes('$schema')) return value;
  const { $schema, ...rest } = value;
  return rest;
}

function emptyFile(file: string, schema: z.ZodType): Problem {
  const keys = keysOf(schema);
  const fix = keys.length > 0 ? `write its keys: ${keys.join(', ')}` : 'write at least one entry';
  return { file, line: 1, column: 1, key: '', message: 'the file is empty', fix };
}
