import { z } from 'zod';
import { alternativesOf, type Schema, wordsOf } from './schema-shape.ts';

/** What the schemas take, for people: `a whole number from 0 to 65535`, `"dots" or "underscores"`. */
export function expectationOf(schemas: readonly Schema[]): string {
  const parts = schemas.flatMap(alternativesOf).flatMap((alternative) => {
    const words = wordsOf(alternative);
    return words.length > 0 ? words.map((word) => JSON.stringify(word)) : nameOf(alternative);
  });
  return toChoice([...new Set(parts)]);
}

/** The kind of a value, never the value of a text. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'nothing (null)';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return value === '' ? 'an empty string' : 'a string';
  if (typeof value === 'object') return value instanceof Date ? 'a date' : 'a map';
  return `the ${typeof value} ${String(value)}`;
}

/** `a`, `a or b`, `a, b or c`. */
export function toChoice(parts: readonly string[]): string {
  if (parts.length < 2) return parts[0] ?? 'a value';
  return `${parts.slice(0, -1).join(', ')} or ${parts.at(-1)}`;
}

function nameOf(alternative: ReturnType<typeof alternativesOf>[number]): string {
  switch (alternative._zod.def.type) {
    case 'string':
      return jsonSchemaOf(alternative).format === 'uri' ? 'a URL' : 'a string';
    case 'number':
      return numberName(jsonSchemaOf(alternative));
    case 'boolean':
      return 'true or false';
    case 'array':
    case 'tuple':
      return 'a list';
    case 'object':
    case 'record':
      return 'a map';
    case 'null':
      return 'null';
    default:
      return 'a value';
  }
}

/** zod's own reading of a schema's checks. */
function jsonSchemaOf(schema: Schema): z.core.JSONSchema.BaseSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
}

function numberName(json: z.core.JSONSchema.BaseSchema): string {
  const { type, minimum, exclusiveMinimum, maximum } = json;
  const whole = type === 'integer';
  const kind = whole ? 'a whole number' : 'a number';
  const above =
    typeof exclusiveMinimum === 'number' ? exclusiveMinimum + (whole ? 1 : 0) : undefined;
  const lowest = toBound(minimum) ?? toBound(above);
  const highest = toBound(maximum);
  if (lowest !== undefined && highest !== undefined) return `${kind} from ${lowest} to ${highest}`;
  if (lowest !== undefined) return `${kind} of at least ${lowest}`;
  return highest === undefined ? kind : `${kind} of at most ${highest}`;
}

/** A bound that the schema sets, not the end of the safe integers. */
function toBound(bound: number | undefined): number | undefined {
  return bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined;
}
