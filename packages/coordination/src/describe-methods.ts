import type { JsonObject } from '@starloom/core';
import { z } from 'zod';
import { REASONS, type Reason } from './errors.ts';
import type { Method } from './methods/define-method.ts';

export interface MethodDescription {
  readonly name: string;
  /** The first part of the name, such as `memory_locker`. */
  readonly service: string;
  readonly summary: string;
  readonly effect: Method['effect'];
  /** JSON Schemas. */
  readonly params: JsonObject;
  readonly result: JsonObject;
  readonly errors: readonly { readonly reason: Reason; readonly code: number }[];
  readonly example: { readonly params: unknown; readonly result: unknown };
}

export function describeTable(table: Readonly<Record<string, Method>>): MethodDescription[] {
  return Object.entries(table).map(([name, method]) => ({
    name,
    service: name.slice(0, name.indexOf('.')),
    summary: method.summary,
    effect: method.effect,
    params: toJsonSchema(method.params, 'input'),
    result: toJsonSchema(method.result, 'output'),
    errors: method.errors.map((reason) => ({ reason, code: REASONS[reason].rpc })),
    example: method.example,
  }));
}

function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return JSON.parse(JSON.stringify(rest));
}
