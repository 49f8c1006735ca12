// JSON Patch (RFC 6902) on JSON Pointers (RFC 6901). The document that is given is never changed:
// an operation that fails leaves nothing behind. Members of an operation that the RFC does not know
// are ignored, as its section 4 says; keys that reach prototypes are refused, as in any request.

import type { Json } from '@starloom/core';
import { z } from 'zod';
import { refuse } from '../errors.ts';
import { isJsonObject, jsonSchema, sameJson } from './json.ts';
import { isTooDeep, MAX_DEPTH } from './json-depth.ts';
import { type Container, JsonDraft, memberOf, toIndex } from './json-draft.ts';

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

export interface PatchOptions {
  /** That of the document: a test that fails tells it. */
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

/** The pointer's segments, unescaped. */
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
      const value = existing(locate(step, operation.from));
      if (!step.draft.share(value)) throw tooMuchCopied(step, path);
      add(locate(step, path), value);
      return;
    }
    case 'move': {
      if (path.startsWith(`${operation.from}/`)) {
        throw failed(step.index, path, 'a value cannot be moved into itself');
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
    existing({ parent, key: step, pointer, index });
    const inner = draft.open(parent, step);
    if (inner === undefined) {
      throw failed(index, pointer, 'there is nothing to go into on the way');
    }
    parent = inner;
  }
  return { parent, key, pointer, index };
}

function existing({ parent, key, pointer, index }: Place): Json {
  const found = memberOf(parent, key);
  if (found === undefined) throw failed(index, pointer, 'there is no such value');
  return found;
}

function take(place: Place): Json {
  const found = existing(place);
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
    throw failed(index, pointer, 'there is no such index');
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
  throw refuse('test_failed', `The test of "${path}" does not hold`, {
    operation: index,
    path,
    ...(version !== undefined && { current_version: version }),
    current: found ?? null,
    fix: 'read the context again and make a new patch',
  });
}

/** No `__proto__`, and no `prototype` in a `constructor`, in however many steps. */
function assertKey({ key, pointer, index }: Place, value: Json): void {
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

/** What clients receive or the store keeps of a patch can be sent again. */
function assertDepth(value: Json): void {
  if (!isTooDeep(value)) return;
  throw refuse('patch_failed', `The patch makes values nested deeper than ${MAX_DEPTH}`, {
    allowed: MAX_DEPTH,
    fix: 'nest less, and copy nothing into itself again and again',
  });
}

function tooMuchCopied({ index, options: { copyBytes } }: Step, path: string) {
  return refuse('quota', 'The patch copies more than a context may hold (context_bytes)', {
    limit: 'context_bytes',
    allowed: copyBytes,
    operation: index,
    path,
    fix: 'copy less, and nothing into itself again and again',
  });
}

function failed(index: number, pointer: string, why: string) {
  return refuse('patch_failed', `Operation ${index} of the patch failed at "${pointer}": ${why}`, {
    operation: index,
    path: pointer,
    fix: 'read the context again and make a new patch',
  });
}
