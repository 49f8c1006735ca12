// JSON Patch (RFC 6902) on JSON Pointers (RFC 6901). The document that is given is never changed:
// an operation that fails leaves nothing behind. Members of an operation that the RFC does not know
// are ignored, as its section 4 says; keys that reach prototypes are refused, as in any request.

import type { Json } from '@starloom/core';
import { z } from 'zod';
import { refuse } from '../errors.ts';
import { isJsonObject, jsonSchema, sameJson } from './json.ts';

const pointerSchema = z.string().regex(/^(\/([^~]|~[01])*)?$/, 'expected a JSON Pointer');
const to = { path: pointerSchema };
const from = { path: pointerSchema, from: pointerSchema };
const valued = { path: pointerSchema, value: jsonSchema };

export const jsonPatchSchema = z
  .array(
    z.discriminatedUnion('op', [
      z.object({ op: z.literal('add'), ...valued }),
      z.object({ op: z.literal('replace'), ...valued }),
      z.object({ op: z.literal('test'), ...valued }),
      z.object({ op: z.literal('remove'), ...to }),
      z.object({ op: z.literal('move'), ...from }),
      z.object({ op: z.literal('copy'), ...from }),
    ]),
  )
  .min(1)
  .max(1_000);

export type JsonPatch = z.infer<typeof jsonPatchSchema>;
type Operation = JsonPatch[number];

type Mutable = null | boolean | number | string | Mutable[] | { [key: string]: Mutable };

/** `version` is that of the document: a test that fails tells it. */
export function applyJsonPatch(document: Json, patch: JsonPatch, version?: number): Json {
  const holder: { [key: string]: Mutable } = { root: structuredClone(document) as Mutable };
  for (const [index, operation] of patch.entries()) apply(holder, operation, index, version);
  return holder.root ?? null;
}

/** The pointer's segments, unescaped. */
export function parsePointer(pointer: string): string[] {
  const segments = pointer.split('/').slice(1);
  return segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function apply(
  holder: { [key: string]: Mutable },
  operation: Operation,
  index: number,
  version: number | undefined,
): void {
  const place = locate(holder, operation.path, index);
  switch (operation.op) {
    case 'add':
      add(place, structuredClone(operation.value) as Mutable);
      return;
    case 'replace':
      take(place);
      add(place, structuredClone(operation.value) as Mutable);
      return;
    case 'remove':
      take(place);
      return;
    case 'test': {
      const found = peek(place);
      if (found !== undefined && sameJson(found, operation.value)) return;
      throw refuse('test_failed', `The test of "${operation.path}" does not hold`, {
        operation: index,
        path: operation.path,
        ...(version !== undefined && { current_version: version }),
        current: found ?? null,
        fix: 'read the context again and make a new patch',
      });
    }
    case 'copy':
      add(place, structuredClone(existing(locate(holder, operation.from, index))));
      return;
    case 'move': {
      if (operation.path.startsWith(`${operation.from}/`)) {
        throw failed(place, 'a value cannot be moved into itself');
      }
      const value = take(locate(holder, operation.from, index));
      add(locate(holder, operation.path, index), value);
    }
  }
}

interface Place {
  readonly parent: Mutable[] | { [key: string]: Mutable };
  readonly key: string;
  readonly pointer: string;
  readonly index: number;
}

function locate(holder: { [key: string]: Mutable }, pointer: string, index: number): Place {
  const keys = ['root', ...parsePointer(pointer)];
  const key = keys.pop() ?? 'root';
  let parent: Mutable = holder;
  for (const step of keys) {
    parent = existing({ parent: container(parent, pointer, index), key: step, pointer, index });
  }
  return { parent: container(parent, pointer, index), key, pointer, index };
}

function container(value: Mutable, pointer: string, index: number): Place['parent'] {
  if (typeof value === 'object' && value !== null) return value;
  throw failed({ pointer, index }, 'there is nothing to go into on the way');
}

function peek({ parent, key }: Place): Mutable | undefined {
  if (Array.isArray(parent)) return parent[toIndex(key) ?? -1];
  return Object.hasOwn(parent, key) ? parent[key] : undefined;
}

function existing(place: Place): Mutable {
  const found = peek(place);
  if (found === undefined) throw failed(place, 'there is no such value');
  return found;
}

function take(place: Place): Mutable {
  const found = existing(place);
  const { parent, key } = place;
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
  return found;
}

function add(place: Place, value: Mutable): void {
  const { parent, key } = place;
  if (!Array.isArray(parent)) {
    assertKey(place, value);
    Object.defineProperty(parent, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
    return;
  }
  const at = key === '-' ? parent.length : toIndex(key);
  if (at === undefined || at > parent.length) throw failed(place, 'there is no such index');
  parent.splice(at, 0, value);
}

/** No `__proto__`, and no `prototype` in a `constructor`, in however many steps. */
function assertKey({ key, pointer, index }: Place, value: Mutable): void {
  const isInConstructor = key === 'prototype' && parsePointer(pointer).at(-2) === 'constructor';
  const hasPrototype =
    key === 'constructor' && isJsonObject(value) && Object.hasOwn(value, 'prototype');
  if (key !== '__proto__' && !isInConstructor && !hasPrototype) return;
  throw refuse('bad_params', `Operation ${index} of the patch makes a forbidden key`, {
    operation: index,
    path: pointer,
    fix: 'use other keys than "__proto__" and "constructor.prototype"',
  });
}

function toIndex(key: string): number | undefined {
  return /^(0|[1-9]\d*)$/.test(key) ? Number(key) : undefined;
}

function failed({ pointer, index }: Pick<Place, 'pointer' | 'index'>, why: string) {
  return refuse('patch_failed', `Operation ${index} of the patch failed at "${pointer}": ${why}`, {
    operation: index,
    path: pointer,
    fix: 'read the context again and make a new patch',
  });
}
