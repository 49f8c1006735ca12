import { canonicalJson, type Json, type JsonObject } from '@starloom/core';
import { z } from 'zod';

/** Any JSON value; what comes from the wire was parsed as JSON already. */
export const jsonSchema = z.custom<Json>((value) => value !== undefined, 'expected a JSON value');

export const jsonObjectSchema = z
  .custom<JsonObject>(isJsonObject, 'expected a JSON object')
  .meta({ type: 'object' });

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isJsonArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

export function jsonBytes(value: Json): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** One text for equal values, also for those with lone surrogates. */
export function digestibleJson(value: Json): string {
  return canonicalJson(value, { loneSurrogates: 'escape' });
}

export function sameJson(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (isJsonArray(a)) {
    return isJsonArray(b) && a.length === b.length && a.every((item, n) => isSame(item, b[n]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]));
}

function isSame(a: Json | undefined, b: Json | undefined): boolean {
  return a !== undefined && b !== undefined && sameJson(a, b);
}

/** RFC 7386: objects are merged, `null` removes, anything else replaces. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const members = new Map(Object.entries(isJsonObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) members.delete(key);
    else members.set(key, mergePatch(members.get(key), value));
  }
  return Object.fromEntries(members);
}
