// What a zod schema accepts, read from its definition: which keys, which lists, which words. The
// loader needs it beside parsing, to suggest keys, to place environment overrides and to find
// secrets. Wrappers (optional, default, …) are seen through; unions are lists of alternatives.

import { z } from 'zod';
import { isContainer, isMap, type KeyPath, valueAt } from './key-path.ts';

export type Schema = z.core.$ZodType;
type Concrete = z.core.$ZodTypes;

const NULL = z.null();

/** The schemas one of which a value must meet, without wrappers. */
export function alternativesOf(schema: Schema): Concrete[] {
  const concrete = schema as Concrete;
  const { def } = concrete._zod;
  switch (def.type) {
    case 'optional':
    case 'nonoptional':
    case 'default':
    case 'prefault':
    case 'readonly':
    case 'catch':
      return alternativesOf(def.innerType);
    case 'nullable':
      return [...alternativesOf(def.innerType), NULL];
    case 'lazy':
      return alternativesOf(def.getter());
    case 'pipe':
      return alternativesOf(def.in._zod.def.type === 'transform' ? def.out : def.in);
    case 'union':
      return def.options.flatMap(alternativesOf);
    case 'intersection':
      return [...alternativesOf(def.left), ...alternativesOf(def.right)];
    default:
      return [concrete];
  }
}

/** The schemas of the value at `key`; `value` (the parent's) chooses among tagged alternatives. */
export function childrenOf(schema: Schema, key: string | number, value?: unknown): Schema[] {
  return narrow(alternativesOf(schema), value).flatMap(({ _zod: { def } }) => {
    switch (def.type) {
      case 'object':
        return Object.hasOwn(def.shape, key) ? (def.shape[key] ?? []) : (def.catchall ?? []);
      case 'record':
        return def.valueType;
      case 'array':
        return def.element;
      case 'tuple':
        return def.items[Number(key)] ?? def.rest ?? [];
      default:
        return [];
    }
  });
}

/** The schemas that meet at `path`, following the values of `root` where a union is tagged. */
export function schemasAt(schema: Schema, path: KeyPath, root: unknown): Schema[] {
  const [key, ...rest] = path;
  if (key === undefined) return [schema];
  const child = valueAt(root, [key]);
  return childrenOf(schema, key, root).flatMap((next) => schemasAt(next, rest, child));
}

export function keysOf(schema: Schema, value?: unknown): string[] {
  const keys = narrow(alternativesOf(schema), value).flatMap(({ _zod: { def } }) =>
    def.type === 'object' ? Object.keys(def.shape) : [],
  );
  return [...new Set(keys)];
}

export function accepts(schema: Schema, type: 'object' | 'array' | 'record'): boolean {
  return alternativesOf(schema).some(({ _zod: { def } }) => def.type === type);
}

/** The words accepted here, when the schema is an enumeration or has literals. */
export function wordsOf(schema: Schema): string[] {
  return alternativesOf(schema).flatMap(({ _zod: { def } }) => {
    if (def.type === 'literal') return def.values.filter((value) => typeof value === 'string');
    if (def.type !== 'enum') return [];
    return Object.values(def.entries).filter((value) => typeof value === 'string');
  });
}

/** Is every accepted value text? Then an environment variable is taken as it is. */
export function isTextOnly(schema: Schema): boolean {
  return alternativesOf(schema).every((alternative) => {
    const { type } = alternative._zod.def;
    return type === 'string' || wordsOf(alternative).length > 0;
  });
}

/** The value a missing key starts from, before its own defaults are filled in. */
export function defaultOf(schema: Schema): unknown {
  const { def } = (schema as Concrete)._zod;
  if (def.type === 'default' || def.type === 'prefault') return def.defaultValue;
  return 'innerType' in def ? defaultOf(def.innerType) : undefined;
}

export function descriptionOf(schema: Schema): string | undefined {
  const own = z.globalRegistry.get(schema)?.description;
  if (own !== undefined) return own;
  const { def } = (schema as Concrete)._zod;
  return 'innerType' in def ? descriptionOf(def.innerType) : undefined;
}

/** Calls `visit` with each text in `value` and each schema that could take it. */
export function visitTexts(
  schema: Schema,
  value: unknown,
  visit: (path: KeyPath, text: string, schema: Concrete) => void,
  path: KeyPath = [],
): void {
  if (typeof value === 'string') {
    for (const alternative of alternativesOf(schema)) visit(path, value, alternative);
    return;
  }
  if (!isContainer(value)) return;
  for (const [name, child] of Object.entries(value)) {
    const key = Array.isArray(value) ? Number(name) : name;
    for (const next of childrenOf(schema, key, value))
      visitTexts(next, child, visit, [...path, key]);
  }
}

/** Of several map schemas, those whose literal keys (`kind: yaml`) agree with the value. */
function narrow(alternatives: Concrete[], value: unknown): Concrete[] {
  if (!isMap(value)) return alternatives;
  const agreeing = alternatives.filter(({ _zod: { def } }) => {
    if (def.type !== 'object') return def.type === 'record';
    return Object.entries(def.shape).every(([key, schema]) => {
      const tag = value[key];
      const isTag = alternativesOf(schema).every(({ _zod }) => _zod.def.type === 'literal');
      return typeof tag !== 'string' || !isTag || wordsOf(schema).includes(tag);
    });
  });
  return agreeing.length > 0 ? agreeing : alternatives;
}

/** The JSON Schema (2020-12) of what may stand in a file, for editors and other tools. */
export function toConfigJsonSchema(
  schema: z.ZodType,
  { name, title }: { readonly name: string; readonly title: string },
): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input' });
  const properties = rest.properties && { properties: { $schema: EDITOR, ...rest.properties } };
  return { $schema, $id: `urn:starloom:schema:${name}`, title, ...rest, ...properties };
}

const EDITOR = { type: 'string', description: 'The schema of this file, for editors' };
