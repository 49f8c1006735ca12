// Reads just enough of a foreign JSON Schema to draw a form. What it does not know becomes a field for
// JSON, so every tool can be called. The gateway checks the arguments; this only helps to write them.

import type { JsonSchema } from '../api-types.ts';

const MAX_DEPTH = 4;
const MAX_FIELDS = 60;

export type FieldKind =
  | 'text'
  | 'long'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'choice'
  | 'list'
  | 'object'
  | 'json';

export interface FieldSpec {
  readonly name: string;
  readonly kind: FieldKind;
  readonly title: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly options: readonly { readonly value: unknown; readonly label: string }[];
  /** Of a list: one of its items. */
  readonly item?: FieldSpec;
  readonly fields: readonly FieldSpec[];
  readonly initial: unknown;
  readonly isSecret: boolean;
  /** Of an `<input>`. */
  readonly inputType: string;
}

const INPUT_TYPES: Readonly<Record<string, string>> = { email: 'email', uri: 'url', date: 'date' };

export function fieldsOf(schema: JsonSchema | undefined): readonly FieldSpec[] {
  if (schema === undefined) return [];
  return read('', schema, schema, true, 0).fields;
}

export function initialOf(fields: readonly FieldSpec[]): Record<string, unknown> {
  const known = fields.filter(({ initial }) => initial !== undefined);
  return Object.fromEntries(known.map(({ name, initial }) => [name, initial]));
}

/** What is missing or cannot be read, by path. */
export function problemsOf(
  fields: readonly FieldSpec[],
  value: Record<string, unknown>,
  path = '',
): Record<string, string> {
  const found: Record<string, string> = {};
  for (const field of fields) {
    const at = path === '' ? field.name : `${path}.${field.name}`;
    const given = value[field.name];
    if (given instanceof Unreadable) found[at] = given.why;
    else if (given === undefined || given === '') {
      if (field.isRequired && field.kind !== 'boolean') found[at] = 'Required.';
    } else if (field.kind === 'object' && isRecord(given)) {
      Object.assign(found, problemsOf(field.fields, given, at));
    }
  }
  return found;
}

/** A text that is not yet what its field needs: it stays as it was typed. */
export class Unreadable {
  readonly text: string;
  readonly why: string;
  constructor(text: string, why: string) {
    this.text = text;
    this.why = why;
  }
}

export function readJson(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    return new Unreadable(text, `Not JSON: ${(error as Error).message}`);
  }
}

export function readNumber(text: string, isInteger: boolean): unknown {
  if (text.trim() === '') return undefined;
  const value = Number(text);
  if (Number.isNaN(value)) return new Unreadable(text, 'Not a number.');
  if (isInteger && !Number.isInteger(value)) return new Unreadable(text, 'Not a whole number.');
  return value;
}

function read(
  name: string,
  raw: JsonSchema,
  root: JsonSchema,
  isRequired: boolean,
  depth: number,
): FieldSpec {
  const schema = resolve(raw, root);
  const kind = depth > MAX_DEPTH ? 'json' : kindOf(schema, depth);
  const properties = kind === 'object' && isRecord(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const entries = Object.entries(properties).filter(
    ([, value]) => isRecord(value) || value === true,
  );
  return {
    name,
    kind,
    title: text(schema.title) || name,
    description: text(schema.description),
    isRequired,
    options: choicesOf(schema) ?? [],
    ...(kind === 'list' && {
      item: read('', isRecord(schema.items) ? schema.items : {}, root, true, depth + 1),
    }),
    fields: entries
      .slice(0, MAX_FIELDS)
      .map(([key, value]) =>
        read(key, isRecord(value) ? value : {}, root, required.includes(key), depth + 1),
      ),
    initial: schema.default ?? schema.const,
    isSecret: schema.format === 'password' || schema.writeOnly === true,
    inputType: INPUT_TYPES[text(schema.format)] ?? 'text',
  };
}

function kindOf(schema: JsonSchema, depth: number): FieldKind {
  if (choicesOf(schema) !== undefined) return 'choice';
  const type = Array.isArray(schema.type)
    ? schema.type.filter((one) => one !== 'null')[0]
    : schema.type;
  if (type === 'string') return isLong(schema) ? 'long' : 'text';
  if (type === 'number' || type === 'integer' || type === 'boolean') return type;
  if (type === 'array') return isRecord(schema.items) ? 'list' : 'json';
  if (type === 'object' || (depth === 0 && isRecord(schema.properties))) {
    return isRecord(schema.properties) || depth === 0 ? 'object' : 'json';
  }
  return 'json';
}

/** An `enum`, or `oneOf` with a `const` and a title each. */
function choicesOf(schema: JsonSchema): FieldSpec['options'] | undefined {
  if (Array.isArray(schema.enum)) {
    const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
    return schema.enum.map((value, index) => ({
      value,
      label: text(names[index]) || String(value),
    }));
  }
  const parts = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(parts) || parts.length === 0) return undefined;
  const constants = parts.filter(
    (part): part is Record<string, unknown> => isRecord(part) && Object.hasOwn(part, 'const'),
  );
  if (constants.length < parts.length) return undefined;
  return constants.map((part) => ({
    value: part.const,
    label: text(part.title) || String(part.const),
  }));
}

const LONG = /^(task|prompt|text|content|body|message|query|question|code|description)$/i;

function isLong(schema: JsonSchema): boolean {
  return (
    LONG.test(text(schema.title)) ||
    Number(schema.maxLength) > 200 ||
    schema.contentMediaType !== undefined
  );
}

export function isLongName(name: string): boolean {
  return LONG.test(name);
}

/** Follows references within the document, a few steps far. */
function resolve(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let current: unknown = schema;
  for (let step = 0; step < 8 && isRecord(current); step += 1) {
    if (typeof current.$ref === 'string' && current.$ref.startsWith('#/')) {
      const parts = current.$ref
        .slice(2)
        .split('/')
        .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
      current = parts.reduce<unknown>(
        (at, part) => (isRecord(at) && Object.hasOwn(at, part) ? at[part] : undefined),
        root,
      );
      continue;
    }
    const only = onlyChoice(current);
    if (only === undefined) return current;
    current = { ...only, ...(current.description ? { description: current.description } : {}) };
  }
  return isRecord(current) ? current : {};
}

/** `anyOf: [X, null]` is X. */
function onlyChoice(schema: JsonSchema): JsonSchema | undefined {
  const choices = schema.anyOf ?? schema.oneOf;
  if (!Array.isArray(choices) || schema.type !== undefined) return undefined;
  const real = choices.filter((one) => isRecord(one) && one.type !== 'null');
  return real.length === 1 && isRecord(real[0]) ? real[0] : undefined;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
