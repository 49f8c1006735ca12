// JSON with places in it: `{"$from": "/arguments/city"}` stands for the value that the pointer leads
// to, whole and with its type. Values are put into the tree, never into text, and what was put there
// is not looked at again.

import { FabricError, isObject } from '@starloom/core';
import { z } from 'zod';
import { failure } from '../../reasons.ts';
import { pointerSchema, pointTo } from '../json-pointer.ts';

const PLACE_TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array'] as const;
type PlaceType = (typeof PLACE_TYPES)[number];

const MAX_DEPTH = 64;

export const placeSchema = z.strictObject({
  $from: pointerSchema.describe('JSON Pointer of the value'),
  $type: z.enum(PLACE_TYPES).optional().describe('What the value must be'),
  $default: z.unknown().optional().describe('The value where there is none'),
  $required: z.boolean().optional().describe('Refuse the call where there is no value'),
});

/** JSON with places in it. */
export const treeSchema = z.unknown().check((context) => {
  for (const { path, message } of problemsIn(context.value)) {
    context.issues.push({ code: 'custom', message, path, input: context.value });
  }
});

export type Place = z.infer<typeof placeSchema>;
export type Sources = Readonly<Record<string, unknown>>;

/** The tree with values in its places; members and items without a value are left out. */
export function fill(tree: unknown, sources: unknown): unknown {
  if (Array.isArray(tree)) {
    return tree.map((item) => fill(item, sources)).filter((item) => item !== undefined);
  }
  if (!isObject(tree)) return tree;
  if ('$literal' in tree) return tree.$literal;
  if (isPlace(tree)) return valueFor(tree, sources);
  const filled = Object.entries(tree).map(([key, item]) => [key, fill(item, sources)] as const);
  return Object.fromEntries(filled.filter(([, value]) => value !== undefined));
}

/** The same for what an agent sent: a value that does not fit is a fault of the agent. */
export function fillFromAgent(tree: unknown, document: unknown): unknown {
  return orAgentFault(() => fill(tree, document));
}

/** Turns BAD_INPUT of a place into a fault of the agent, since its value came from there. */
export function orAgentFault<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    if (!FabricError.is(cause) || cause.code !== 'BAD_INPUT') throw cause;
    const { argument } = cause.details;
    throw failure('bad_result/value', { pointer: argument }, { cause });
  }
}

/** `undefined` for a place without a value; BAD_INPUT for a value that does not fit it. */
export function valueFor(place: Place, sources: unknown): unknown {
  const { $from, $type, $default, $required } = place;
  const value = pointTo(sources, $from) ?? $default;
  if (value === undefined || value === null) {
    if ($required) throw misfit($from, 'is missing');
    return undefined;
  }
  if ($type !== undefined && !isOf($type, value)) throw misfit($from, `must be of type ${$type}`);
  return value;
}

export function isPlace(value: unknown): value is Place {
  return isObject(value) && '$from' in value;
}

function isOf(type: PlaceType, value: unknown): boolean {
  switch (type) {
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function misfit(from: string, problem: string): FabricError {
  return failure('bad_argument', { argument: from, problem });
}

interface TreeProblem {
  readonly path: PropertyKey[];
  readonly message: string;
}

function problemsIn(tree: unknown, path: PropertyKey[] = []): TreeProblem[] {
  if (path.length > MAX_DEPTH) return [{ path, message: 'is nested too deep' }];
  if (Array.isArray(tree)) {
    return tree.flatMap((item, index) => problemsIn(item, [...path, index]));
  }
  if (!isObject(tree)) return [];
  if ('$literal' in tree) return [];
  if (!isPlace(tree)) {
    return Object.entries(tree).flatMap(([key, item]) => problemsIn(item, [...path, key]));
  }
  const parsed = placeSchema.safeParse(tree);
  return (parsed.error?.issues ?? []).map((issue) => {
    return { path: [...path, ...issue.path], message: issue.message };
  });
}
