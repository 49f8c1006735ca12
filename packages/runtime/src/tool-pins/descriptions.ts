// What MCP servers and other agents say of their tools is read by the model like anything else, before
// any call. It is made harmless to look at, kept short, and pinned: a tool that later describes itself
// otherwise is noticed.

import { canonicalJson, sha256Hex, toWellFormed } from '@starloom/core';
import type { JsonSchema, ToolEffect } from '@starloom/sdk';
import { stripHidden } from '../trust/hidden-text.ts';

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  /** What its server says of its effect, whatever the operator says. */
  readonly hint?: ToolEffect | undefined;
}

const LIMIT = 2048;
const SCHEMA_LIMIT = 512;
const ANNOTATIONS = new Set(['description', 'title', '$comment']);
const VALUES = new Set(['enum', 'const', 'default']);
/** Under these a key is a chosen name, not a keyword. */
const TABLES = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);
const ESCAPE_SEQUENCE = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[ -/]*[@-~]`, 'g');

/** Without control and hidden characters, and no longer than `limit`. */
export function sanitiseDescription(text: string, limit: number = LIMIT): string {
  const plain = stripHidden(text.toWellFormed().replaceAll(ESCAPE_SEQUENCE, ''))
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
  return plain.length > limit ? `${cut(plain, limit - 1)}…` : plain;
}

/** A schema whose words to the reader are sanitised as well; what it means stays as it was. */
export function sanitiseParameters(schema: JsonSchema): JsonSchema {
  return sanitise(schema, false) as JsonSchema;
}

/** Of the definition as it came, hidden characters and all. */
export function fingerprintOf(source: string, definition: ToolDefinition): string {
  const { name, description, parameters } = definition;
  const text = canonicalJson(toWellFormed({ source, name, description, parameters }));
  return sha256Hex(text);
}

function sanitise(value: unknown, isTable: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => sanitise(item, false));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      if (isTable) return [key, sanitise(member, false)];
      if (VALUES.has(key)) return [key, member];
      if (ANNOTATIONS.has(key) && typeof member === 'string') {
        return [key, sanitiseDescription(member, SCHEMA_LIMIT)];
      }
      return [key, sanitise(member, TABLES.has(key))];
    }),
  );
}

function cut(text: string, length: number): string {
  const head = text.slice(0, length);
  return (head.isWellFormed() ? head : head.slice(0, -1)).trimEnd();
}
