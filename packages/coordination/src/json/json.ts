import type { Json } from '@starloom/core';
import { z } from 'zod';

export type JsonObject = { readonly [key: string]: Json };

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

/** Its size as JSON text in UTF-8. */
export function jsonBytes(value: Json): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/**
 * JSON text that is the same for equal values whatever the order of their members: RFC 8785. (For a
 * lone surrogate, which that RFC refuses, it is the escaped form.)
 */
export function canonicalJson(value: Json): string {
  if (isJsonArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .flatMap((key) => {
      const member = value[key];
      return member === undefined ? [] : [`${JSON.stringify(key)}:${canonicalJson(member)}`];
    });
  return `{${members.join(',')}}`;
}

export function sameJson(a: Json, b: Json): boolean {
  return a === b || canonicalJson(a) === canonicalJson(b);
}
