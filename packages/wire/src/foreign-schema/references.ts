// Where the references of a schema lead. Only into the schema itself: what lies outside is never
// fetched, and a schema that refers to it cannot be used.

import { isObject } from '@starloom/core';
import { type SchemaFields, SchemaProblem } from './schema-fields.ts';

type Target = SchemaFields | boolean;

/** No document has it; relative names are resolved against it. */
const HERE = 'schema:///';

export class References {
  readonly #names = new Map<string, Target>();
  /** What relative names in a schema are relative to. */
  readonly #bases = new Map<object, string>();

  constructor(root: SchemaFields) {
    const open: [unknown, string][] = [[root, HERE]];
    this.#names.set(HERE, root);
    for (let next = open.pop(); next; next = open.pop()) {
      const [place, outer] = next;
      if (typeof place !== 'object' || place === null) continue;
      const base = Array.isArray(place) ? outer : this.#note(place as SchemaFields, outer);
      for (const value of Object.values(place)) open.push([value, base]);
    }
  }

  find(reference: string, from: SchemaFields): Target {
    const base = this.#bases.get(from) ?? HERE;
    const [document = '', fragment = ''] = resolve(reference, base).split('#', 2);
    const isPointer = fragment === '' || fragment.startsWith('/');
    const target = isPointer
      ? at(this.#names.get(document), fragment)
      : this.#names.get(`${document}#${fragment}`);
    if (target !== undefined) return target;
    throw new SchemaProblem(`"$ref" to "${reference.slice(0, 200)}" leads nowhere in the schema`);
  }

  /** The base of what is inside `place`. */
  #note(place: SchemaFields, outer: string): string {
    const { $id, $anchor, $dynamicAnchor } = place;
    const base = typeof $id === 'string' ? (resolve($id, outer).split('#', 1)[0] ?? outer) : outer;
    if (base !== outer) this.#names.set(base, place);
    this.#bases.set(place, base);
    for (const name of [$anchor, $dynamicAnchor]) {
      if (typeof name === 'string') this.#names.set(`${base}#${name}`, place);
    }
    return base;
  }
}

function resolve(reference: string, base: string): string {
  return URL.parse(reference, base)?.href ?? reference;
}

/** By JSON pointer, percent-encoded as in a URI. */
function at(root: Target | undefined, pointer: string): Target | undefined {
  let place: unknown = root;
  for (const part of pointer.split('/').slice(1)) {
    const key = decode(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, key)) return undefined;
    place = (place as SchemaFields)[key];
  }
  return isTarget(place) ? place : undefined;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function isTarget(place: unknown): place is Target {
  return typeof place === 'boolean' || isObject(place);
}
