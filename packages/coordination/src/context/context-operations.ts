// What an update means, as writes of the store. Pure: the same update on the same context is always
// the same plan. `merge` and `increment` need not know the context; the others do, and their plans
// hold only while the keys they read are unchanged, which `ifKeys` says.

import type { Json, JsonObject } from '@starloom/core';
import type { CoordinationStore, Entry, Snapshot, Write } from '../coordination-store.ts';
import { isJsonArray, isJsonObject, mergePatch, sameJson } from '../json/json.ts';
import { applyJsonPatch, jsonPatchSchema, parsePointer } from '../json/json-patch.ts';
import { HEAD, keyOf, toContextKey } from '../partitions.ts';
import { DEFAULT_LIMITS } from '../quota/limits.ts';
import { failure } from '../reasons.ts';

export const UPDATE_OPERATIONS = ['merge', 'replace', 'append', 'patch', 'increment'] as const;
export type UpdateOperation = (typeof UPDATE_OPERATIONS)[number];

export const MAX_KEY_LENGTH = 512;

export interface Plan {
  readonly writes: readonly Write[];
  /** New values by key; for `increment` the amounts. */
  readonly update: JsonObject;
  readonly removed: readonly string[];
  readonly ifKeys: ReadonlyMap<string, number>;
}

export interface ContextView {
  readonly version: number;
  readonly entries: ReadonlyMap<string, Entry>;
}

export function keysToRead(op: UpdateOperation, update: Json): 'none' | 'all' | readonly string[] {
  if (op === 'merge' || op === 'increment') return 'none';
  if (op === 'replace') return 'all';
  if (!isJsonArray(update)) return Object.keys(toObject(update));
  const pointers = parsePatch(update).flatMap((step) =>
    'from' in step ? [step.path, step.from] : [step.path],
  );
  const roots = pointers.map((pointer) => parsePointer(pointer)[0]);
  return roots.every((root) => root !== undefined) ? [...new Set(roots)] : 'all';
}

/** `copyBytes`: how much a JSON Patch may copy. */
export function planUpdate(
  op: UpdateOperation,
  update: Json,
  view: ContextView,
  copyBytes: number = DEFAULT_LIMITS.context_bytes,
): Plan {
  const plan = toPlan(op, update, view, copyBytes);
  for (const key of Object.keys(plan.update)) assertKey(key);
  return plan;
}

/** The context after an update as it stands in the log. */
export function replayUpdate(
  context: Map<string, Entry>,
  version: number,
  { op, update, removed }: { op: string; update: JsonObject; removed: readonly string[] },
): void {
  for (const [key, value] of Object.entries(update)) {
    const before = op === 'increment' ? Number(context.get(key)?.value ?? 0) : 0;
    const after = op === 'increment' ? before + Number(value) : value;
    context.set(key, { value: after, version });
  }
  for (const key of removed) context.delete(key);
}

function toPlan(op: UpdateOperation, update: Json, view: ContextView, copyBytes: number): Plan {
  switch (op) {
    case 'merge':
      return planValues(toObject(update), [], new Map());
    case 'increment':
      return planIncrement(toObject(update));
    case 'append':
      return planValues(appendTo(toObject(update), view), [], versionsAt(view, toObject(update)));
    case 'replace': {
      const after = toObject(update);
      const removed = [...view.entries.keys()].filter((key) => !Object.hasOwn(after, key));
      return planValues(after, removed, new Map([[HEAD, view.version]]));
    }
    case 'patch':
      return planPatch(update, view, copyBytes);
  }
}

function planValues(
  update: JsonObject,
  removed: readonly string[],
  ifKeys: ReadonlyMap<string, number>,
): Plan {
  const puts = Object.entries(update).map(
    ([key, value]) => ({ kind: 'put', key: keyOf.context(key), value }) as const,
  );
  const deletes = removed.map((key) => ({ kind: 'delete', key: keyOf.context(key) }) as const);
  return { writes: [...puts, ...deletes], update, removed, ifKeys };
}

function planIncrement(update: JsonObject): Plan {
  const writes = Object.entries(update).map(([key, by]) => {
    if (typeof by === 'number') return { kind: 'increment', key: keyOf.context(key), by } as const;
    throw failure('not_a_number/amount', { key });
  });
  return { writes, update, removed: [], ifKeys: new Map() };
}

function appendTo(update: JsonObject, { entries }: ContextView): JsonObject {
  const members = Object.entries(update).map(([key, more]) => {
    const before = entries.get(key)?.value ?? [];
    if (isJsonArray(before)) return [key, before.concat(more)] as const;
    throw failure('not_a_list', { key, current: before });
  });
  return Object.fromEntries(members);
}

function planPatch(update: Json, view: ContextView, copyBytes: number): Plan {
  const before = valuesOf(view);
  const after = isJsonArray(update)
    ? applyJsonPatch(before, parsePatch(update), { version: view.version, copyBytes })
    : mergePatch(before, toObject(update));
  if (!isJsonObject(after)) throw failure('patch_failed/not_an_object');
  const changed = Object.entries(after).filter(([key, value]) => {
    const entry = view.entries.get(key);
    return entry === undefined || !sameJson(entry.value, value);
  });
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  const keys = keysToRead('patch', update);
  const ifKeys =
    typeof keys === 'string' ? new Map([[HEAD, view.version]]) : versionsAt(view, keys);
  return planValues(Object.fromEntries(changed), removed, ifKeys);
}

function versionsAt({ entries }: ContextView, keys: readonly string[] | JsonObject) {
  const named = isJsonObject(keys) ? Object.keys(keys) : keys;
  for (const key of named) assertKey(key);
  return new Map(named.map((key) => [keyOf.context(key), entries.get(key)?.version ?? 0]));
}

function assertKey(key: string): void {
  if (key.length > 0 && key.length <= MAX_KEY_LENGTH && key.isWellFormed()) return;
  throw failure('bad_params/key', { key: key.slice(0, 32), most: MAX_KEY_LENGTH });
}

function toObject(update: Json): JsonObject {
  if (isJsonObject(update)) return update;
  throw failure('bad_params/not_an_object');
}

function parsePatch(update: Json) {
  const parsed = jsonPatchSchema.safeParse(update);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const at = `update.${issue?.path.join('.') ?? ''}`;
  throw failure('bad_params/patch', { problem: issue?.message, at });
}

export function contextKeys(keys: readonly string[]): readonly string[] {
  return keys.map(keyOf.context);
}

export async function readContext(
  store: CoordinationStore,
  partition: string,
  keys?: readonly string[],
): Promise<ContextView> {
  return toView(await store.read(partition, keys && [HEAD, ...contextKeys(keys)]));
}

export function toView({ entries }: Snapshot): ContextView {
  const context = [...entries].flatMap(([name, entry]) => {
    const key = toContextKey(name);
    return key === undefined ? [] : [[key, entry] as const];
  });
  return { version: entries.get(HEAD)?.version ?? 0, entries: new Map(context) };
}

export function toContext(view: ContextView) {
  return { context: valuesOf(view), version: view.version, versions: versionsOf(view) };
}

export function valuesOf({ entries }: ContextView): Record<string, Json> {
  return Object.fromEntries([...entries].map(([key, { value }]) => [key, value]));
}

export function versionsOf({ entries }: ContextView): Record<string, number> {
  return Object.fromEntries([...entries].map(([key, { version }]) => [key, version]));
}
