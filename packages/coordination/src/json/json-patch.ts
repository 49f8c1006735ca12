// JSON Patch (RFC 6902) on JSON Pointers (RFC 6901). The document that is given is never changed:
// an operation that fails leaves nothing behind. Members of an operation that the RFC does not know
// are ignored, as its section 4 says; keys that reach prototypes are refused, as in any request.

import type { Json } from '@starloom/core';
import { z } from 'zod';
import { failure } from '../reasons.ts';
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

interface PatchOptions {
  /** Of the document; the error of a failed test contains it. */
  readonly version?: number | undefined;
  /** How much the patch may copy, as JSON text. */
  readonly copyBytes: number;
}

interface Step {
  readonly draft: JsonDraft;
  readonly index: number;
  readonly options: PatchOptions;
}

export function applyJsonPatch(document: Json, patch: JsonPatch, options: PatchOptions): Json {
  const draft = new JsonDraft(document, options.copyBytes);
  for (const [index, operation] of patch.entries()) apply({ draft, index, options }, operation);
  const { root = null } = draft.holder;
  assertDepth(root);
  return root;
}

export function parsePointer(pointer: string): string[] {
  const segments = pointer.split('/').slice(1);
  return segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function apply(step: Step, operation: Operation): void {
  const { path } = operation;
  switch (operation.op) {
    case 'add':
      add(locate(step, path), operation.value);
      return;
    case 'replace':
      take(locate(step, path));
      add(locate(step, path), operation.value);
      return;
    case 'remove':
      take(locate(step, path));
      return;
    case 'test':
      test(step, operation);
      return;
    case 'copy': {
      const value = valueAt(locate(step, operation.from));
      if (!step.draft.share(value)) {
        const { index: operation, options } = step;
        const limit = 'context_bytes';
        throw failure('quota/copied', { limit, allowed: options.copyBytes, operation, path });
      }
      add(locate(step, path), value);
      return;
    }
    case 'move': {
      if (path.startsWith(`${operation.from}/`)) {
        throw operationFailure(step.index, path, 'a value cannot be moved into itself');
      }
      const value = take(locate(step, operation.from));
      add(locate(step, path), value);
    }
  }
}

interface Place {
  readonly parent: Container;
  readonly key: string;
  readonly pointer: string;
  readonly index: number;
}

function locate({ draft, index }: Step, pointer: string): Place {
  const keys = ['root', ...parsePointer(pointer)];
  const key = keys.pop() ?? 'root';
  let parent: Container = draft.holder;
  for (const step of keys) {
    valueAt({ parent, key: step, pointer, index });
    const inner = draft.open(parent, step);
    if (inner === undefined) {
      throw operationFailure(index, pointer, 'there is nothing to go into on the way');
    }
    parent = inner;
  }
  return { parent, key, pointer, index };
}

function valueAt({ parent, key, pointer, index }: Place): Json {
  const found = memberOf(parent, key);
  if (found === undefined) throw operationFailure(index, pointer, 'there is no such value');
  return found;
}

function take(place: Place): Json {
  const found = valueAt(place);
  const { parent, key } = place;
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
  return found;
}

function add(place: Place, value: Json): void {
  const { parent, key, pointer, index } = place;
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
  if (at === undefined || at > parent.length) {
    throw operationFailure(index, pointer, 'there is no such index');
  }
  parent.splice(at, 0, value);
}

function test(step: Step, { path, value }: Extract<Operation, { op: 'test' }>): void {
  const { index, options } = step;
  const { version } = options;
  const { parent, key } = locate(step, path);
  const found = memberOf(parent, key);
  if (found !== undefined && sameJson(found, value)) return;
  assertDepth(found ?? null);
  const current = found ?? null;
  throw failure('test_failed', { operation: index, path, current_version: version, current });
}

/** No `__proto__`, and no `prototype` in a `constructor`, in however many steps. */
function assertKey({ key, pointer, index }: Place, value: Json): void {
  const isInConstructor = key === 'prototype' && parsePointer(pointer).at(-2) === 'constructor';
  const hasPrototype =
    key === 'constructor' && isJsonObject(value) && Object.hasOwn(value, 'prototype');
  if (key !== '__proto__' && !isInConstructor && !hasPrototype) return;
  throw failure('bad_params/forbidden_key', { operation: index, path: pointer });
}

/** Whatever a patch makes can be sent in a message. */
function assertDepth(value: Json): void {
  if (isTooDeep(value)) throw failure('patch_failed/depth', { allowed: MAX_DEPTH });
}

function operationFailure(operation: number, path: string, problem: string) {
  return failure('patch_failed/operation', { operation, path, problem });
}

type Container = Json[] | { [key: string]: Json };

/**
 * A JSON value while it is changed. The original value stays as it was: a container is copied once,
 * when something in it changes. So a copied value can be the same object in both places; the size of
 * copies is bounded, since a value that is copied into itself doubles each time.
 */
class JsonDraft {
  /** Has the value at `root`. */
  readonly holder: { [key: string]: Json };
  /** Containers that this draft made, each in one place only. */
  readonly #own = new Set<object>();
  #bytesLeft: number;

  constructor(value: Json, copyBytes: number) {
    this.holder = { root: value };
    this.#bytesLeft = copyBytes;
  }

  /** The container at a key that is there, so that it can be changed; `undefined`: it is none. */
  open(parent: Container, key: string): Container | undefined {
    const child = memberOf(parent, key);
    if (!isContainer(child)) return undefined;
    if (this.#own.has(child)) return child;
    const copy: Container = Array.isArray(child) ? child.slice() : { ...child };
    this.#own.add(copy);
    if (Array.isArray(parent)) parent[Number(key)] = copy;
    else parent[key] = copy;
    return copy;
  }

  /** Call it before a value gets a second place. False when that would be too much. */
  share(value: Json): boolean {
    const rest: Container[] = [];
    const charge = (each: Json) => {
      this.#bytesLeft -= ownBytes(each);
      if (isContainer(each)) rest.push(each);
    };
    charge(value);
    while (this.#bytesLeft >= 0) {
      const next = rest.pop();
      if (next === undefined) return true;
      this.#own.delete(next);
      for (const child of Array.isArray(next) ? next : Object.values(next)) charge(child);
    }
    return false;
  }
}

function memberOf(parent: Container, key: string): Json | undefined {
  if (Array.isArray(parent)) return parent[toIndex(key) ?? -1];
  return Object.hasOwn(parent, key) ? parent[key] : undefined;
}

function toIndex(key: string): number | undefined {
  return /^(0|[1-9]\d*)$/.test(key) ? Number(key) : undefined;
}

function isContainer(value: Json | undefined): value is Container {
  return typeof value === 'object' && value !== null;
}

/** The approximate size of its JSON text without its members. */
function ownBytes(value: Json): number {
  if (typeof value === 'string') return value.length + 2;
  if (!isContainer(value)) return String(value).length;
  if (Array.isArray(value)) return value.length + 1;
  return Object.keys(value).reduce((sum, key) => sum + key.length + 4, 1);
}

/** A message may be 64 deep, and an update is two deep in it. */
const MAX_DEPTH = 62;

/** Walks level by level instead of by recursion: a hostile depth must not overflow the stack. */
function isTooDeep(value: Json): boolean {
  let level: Json[] = [value];
  for (let depth = 0; depth <= MAX_DEPTH; depth += 1) {
    const next: Json[] = [];
    for (const container of level) {
      if (typeof container !== 'object' || container === null) continue;
      for (const child of Object.values(container)) next.push(child);
    }
    if (next.length === 0) return false;
    level = next;
  }
  return true;
}
