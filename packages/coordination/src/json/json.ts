import { canonicalJson, type Json } from '@starloom/core';
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

/** One text for equal values, also for those with lone surrogates. */
export function digestibleJson(value: Json): string {
  return canonicalJson(value, { loneSurrogates: 'escape' });
}

export function sameJson(a: Json, b: Json): boolean {
  return a === b || digestibleJson(a) === digestibleJson(b);
}
