// Schemas of a document as JSON Schema 2020-12 that stands alone: what it refers to comes along under
// `$defs`. Only keywords of JSON Schema are copied, within a budget.

import { type Fields, isObject } from '@starloom/core';
import type { OpenApiDocument } from './document.ts';

/** Why an operation is left out. */
export class Unsupported extends Error {}

const MAX_DEPTH = 64;

const MAPS = new Set(['properties', 'patternProperties', 'dependentSchemas']);
const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const SINGLE = new Set([
  'items',
  'additionalProperties',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'unevaluatedProperties',
  'unevaluatedItems',
]);
const VALUES = new Set(['enum', 'const', 'default']);
const PLAIN = new Set([
  'type',
  'format',
  'title',
  'description',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'required',
  'deprecated',
  'readOnly',
  'writeOnly',
  'minContains',
  'maxContains',
]);

/** Counts what is copied, over many schemas. */
export class SchemaBudget {
  #left: number;

  constructor(nodes: number) {
    this.#left = nodes;
  }

  spend(nodes = 1): void {
    this.#left -= nodes;
    if (this.#left < 0) throw new Unsupported('its schema is too large');
  }
}

export class SchemaBundle {
  readonly #document: OpenApiDocument;
  readonly #budgets: readonly SchemaBudget[];
  readonly #names = new Map<string, string>();
  readonly #defs: Record<string, unknown> = {};

  constructor(document: OpenApiDocument, budgets: readonly SchemaBudget[]) {
    this.#document = document;
    this.#budgets = budgets;
  }

  /** Throws Unsupported for what cannot stand alone. */
  schema(value: unknown, depth = 0): unknown {
    if (typeof value === 'boolean') return value;
    if (!isObject(value)) return {};
    if (depth > MAX_DEPTH) throw new Unsupported('its schema is nested too deep');
    this.#spend();
    if (typeof value.$ref === 'string') return this.#reference(value, value.$ref, depth);
    const copied = this.#keywords(value, depth);
    return this.#document.isOlder ? fromOlder(copied, value) : copied;
  }

  /** What was referred to, to stand beside the schemas. */
  get defs(): { readonly $defs?: Fields } {
    return Object.keys(this.#defs).length === 0 ? {} : { $defs: this.#defs };
  }

  #keywords(value: Fields, depth: number): Record<string, unknown> {
    const entries = Object.entries(value).flatMap(([key, item]): [string, unknown][] => {
      const copied = this.#keyword(key, item, depth + 1);
      return copied === undefined ? [] : [[key, copied]];
    });
    return Object.fromEntries(entries);
  }

  #keyword(key: string, item: unknown, depth: number): unknown {
    if (MAPS.has(key) && isObject(item)) {
      const entries = Object.entries(item).map(([name, each]) => [name, this.schema(each, depth)]);
      return Object.fromEntries(entries);
    }
    if (LISTS.has(key) && Array.isArray(item)) return item.map((each) => this.schema(each, depth));
    // Older drafts write a list of items where newer ones write prefixItems.
    if (key === 'items' && Array.isArray(item)) return item.map((each) => this.schema(each, depth));
    if (SINGLE.has(key)) return this.schema(item, depth);
    if (VALUES.has(key)) return this.#value(item);
    if (!PLAIN.has(key) || (isObject(item) && key !== 'type')) return undefined;
    return this.#value(item);
  }

  #value(item: unknown): unknown {
    this.#spend(1 + Math.ceil((JSON.stringify(item)?.length ?? 0) / 64));
    return item;
  }

  #reference(value: Fields, reference: string, depth: number): unknown {
    const name = this.#define(reference);
    const own = this.#document.isOlder ? {} : this.#keywords({ ...value, $ref: undefined }, depth);
    return { ...own, $ref: `#/$defs/${name}` };
  }

  #define(reference: string): string {
    const known = this.#names.get(reference);
    if (known !== undefined) return known;
    const target = this.#document.at(reference);
    if (!isObject(target) && typeof target !== 'boolean') {
      throw new Unsupported(`it refers to "${reference.slice(0, 100)}", which is not here`);
    }
    const name = this.#nameFor(reference);
    this.#names.set(reference, name);
    // Named before it is copied, since it may refer to itself.
    this.#defs[name] = this.schema(target);
    return name;
  }

  #nameFor(reference: string): string {
    const last = reference.slice(reference.lastIndexOf('/') + 1);
    const plain = last.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, 64) || 'schema';
    const taken = new Set(this.#names.values());
    for (let number = 1; ; number += 1) {
      const name = number === 1 ? plain : `${plain}_${number}`;
      if (!taken.has(name)) return name;
    }
  }

  #spend(nodes = 1): void {
    for (const budget of this.#budgets) budget.spend(nodes);
  }
}

/** What 3.0 writes differently: `nullable`, and limits that are exclusive by a flag. */
function fromOlder(copied: Record<string, unknown>, { nullable }: Fields): unknown {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, type, enum: values } = copied;
  const schema = { ...copied };
  for (const [flag, limit, name] of [
    [exclusiveMinimum, minimum, 'Minimum'],
    [exclusiveMaximum, maximum, 'Maximum'],
  ] as const) {
    if (typeof flag !== 'boolean') continue;
    delete schema[`exclusive${name}`];
    if (!flag || typeof limit !== 'number') continue;
    delete schema[name.toLowerCase()];
    schema[`exclusive${name}`] = limit;
  }
  if (nullable !== true) return schema;
  if (typeof type === 'string') schema.type = [type, 'null'];
  if (Array.isArray(values) && !values.includes(null)) schema.enum = [...values, null];
  return schema;
}
