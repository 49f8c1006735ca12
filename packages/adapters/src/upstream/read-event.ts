// Events as agents write them. Extra fields are dropped and null counts as absent; what carries
// content (tokens, tool calls, artifacts, the final) must be right, the rest is passed over when it is not.

import {
  CALL_STATES,
  type EventBody,
  type EventType,
  exceedsDepth,
  type FabricError,
  MAX_JSON_DEPTH,
} from '@starloom/core';
import { assertJsonLimits } from '@starloom/wire';
import { z } from 'zod';
import { failure } from '../reasons.ts';

/** `undefined` for an event to pass over; throws UPSTREAM_ERROR for one that cannot be. */
export function readEvent(type: string, data: unknown): EventBody | undefined {
  if (!isEventType(type)) return undefined;
  const parsed = dataSchemas[type].safeParse(withoutNulls(data));
  if (parsed.success && exceedsDepth(data)) throw badEvent(type, ['data'], TOO_DEEP);
  if (parsed.success) return { type, data: parsed.data } as EventBody;
  if (type === 'status' || type === 'progress') return undefined;
  const [issue] = parsed.error.issues;
  throw badEvent(type, ['data', ...(issue?.path ?? [])], issue?.message);
}

export function isEventType(type: unknown): type is EventType {
  return typeof type === 'string' && Object.hasOwn(dataSchemas, type);
}

const dataSchemas = {
  status: z.object({ state: z.enum(CALL_STATES), message: z.string().optional() }),
  token: z.object({ text: z.string() }),
  tool_call: z.object({
    id: z.string().min(1),
    name: z.string().min(1),
    args: z.unknown(),
    phase: z.enum(['start', 'end']),
    result: z.unknown().optional(),
  }),
  progress: z.object({
    percent: z.number().min(0).max(100).optional(),
    message: z.string().optional(),
  }),
  artifact: z.object({
    id: z.string().min(1).max(256),
    name: z.string().optional(),
    media_type: z.string().min(1),
    text: z.string().optional(),
    data: z.base64().optional(),
    uri: z.string().optional(),
    append: z.boolean().optional(),
    last: z.boolean().optional(),
  }),
  final: z.object({
    answer: z.string().default(''),
    citations: z
      .array(
        z.looseObject({
          title: z.string().optional(),
          uri: z.string().optional(),
          text: z.string().optional(),
        }),
      )
      .optional(),
    data: z.unknown().optional(),
    content: z.array(z.looseObject({ type: z.string() })).optional(),
  }),
} satisfies { [Type in EventType]: z.ZodType<Extract<EventBody, { type: Type }>['data']> };

const TOO_DEEP = `arrays and objects nest deeper than ${MAX_JSON_DEPTH}`;

function badEvent(type: EventType, path: readonly PropertyKey[], problem = ''): FabricError {
  return failure('bad_event', { type, field: path.map(String).join('.'), problem });
}

function withoutNulls(data: unknown): unknown {
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));
}

/** A document inside of a text; one that is none, or is too large to be one, stays a text. */
export function parseOrText(text: string): unknown {
  try {
    assertJsonLimits(text);
    const value: unknown = JSON.parse(text);
    return exceedsDepth(value) ? text : value;
  } catch {
    return text;
  }
}
