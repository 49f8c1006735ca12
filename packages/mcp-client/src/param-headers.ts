// Tool arguments that the agent wants mirrored in HTTP headers: `x-mcp-header` in its input schema
// (2026-07-28, "Custom Headers from Tool Parameters"). A declaration that breaks a rule makes the
// whole tool unusable over HTTP.

import { type Fields, isObject } from '@starloom/core';
import { toHeaderValue } from './http-headers.ts';

export interface ParamHeader {
  readonly path: readonly string[];
  readonly header: string;
}

const KEY = 'x-mcp-header';
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/;
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
const MAX_DEPTH = 32;

/** The declarations of a schema, or `undefined` when one of them is invalid. */
export function findParamHeaders(inputSchema: unknown): ParamHeader[] | undefined {
  const found: ParamHeader[] = [];
  const isValid = collect(inputSchema, [], true, found);
  const names = new Set(found.map(({ header }) => header.toLowerCase()));
  return isValid && names.size === found.length ? found : undefined;
}

/** Absent, null and composite values have no header. */
export function toParamHeaders(
  declared: readonly ParamHeader[],
  toolArguments: unknown,
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { path, header } of declared) {
    const value = path.reduce<unknown>(member, toolArguments);
    const text = toText(value);
    if (text !== undefined) headers[`mcp-param-${header.toLowerCase()}`] = toHeaderValue(text);
  }
  return headers;
}

/** `isReachable` while only `properties` led here; elsewhere a declaration is an error. */
function collect(
  schema: unknown,
  path: readonly string[],
  isReachable: boolean,
  found: ParamHeader[],
): boolean {
  if (Array.isArray(schema)) return schema.every((item) => collect(item, path, false, found));
  if (!isObject(schema)) return true;
  if (path.length > MAX_DEPTH) return false;
  if (Object.hasOwn(schema, KEY)) {
    const header = schema[KEY];
    if (!isReachable || path.length === 0 || !TYPES.has(schema.type)) return false;
    if (typeof header !== 'string' || !TOKEN.test(header)) return false;
    found.push({ path, header });
  }
  return Object.entries(schema).every(([keyword, value]) => {
    if (keyword === 'properties' && isObject(value)) return inProperties(value);
    return DATA_KEYWORDS.has(keyword) || collect(value, [...path, keyword], false, found);
  });

  function inProperties(properties: Fields): boolean {
    return Object.entries(properties).every(([name, property]) =>
      collect(property, [...path, name], isReachable, found),
    );
  }
}

/** Their values are data: what looks like a keyword in there is none. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples', KEY]);

function member(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return String(value);
  const isFraction = Number.isFinite(value) && !Number.isInteger(value);
  return isFraction ? String(value) : undefined;
}
