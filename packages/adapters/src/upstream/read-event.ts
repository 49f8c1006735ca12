// Events as agents write them. Extra fields are dropped and null counts as absent; what carries
// content (tokens, tool calls, artifacts, the final) must be right, the rest is passed over when it is not.

import {
  type EventBody,
  type EventType,
  eventBodySchema,
  exceedsDepth,
  type FabricError,
  MAX_JSON_DEPTH,
  tryParseJson,
} from '@starloom/core';
import { jsonExcess, UPSTREAM_JSON_LIMITS } from '@starloom/wire';
import { z } from 'zod';
import { failure } from '../reasons.ts';

/** Events that carry content of the answer. */
type ContentType = 'token' | 'tool_call' | 'artifact' | 'final';

/** `undefined` for an event to pass over; throws UPSTREAM_ERROR for malformed content. */
export function readEvent(type: ContentType, data: unknown): EventBody;
export function readEvent(type: string, data: unknown): EventBody | undefined;
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

const [status, token, toolCall, progress, artifact, final] = eventBodySchema.options;

/** The schemas of our own events, without the fields that only the gateway writes. */
const dataSchemas = {
  status: status.shape.data.omit({ inputs: true }).strip(),
  token: token.shape.data.strip(),
  tool_call: toolCall.shape.data.strip(),
  progress: progress.shape.data.omit({ upstream: true }).strip(),
  artifact: artifact.shape.data.strip(),
  final: final.shape.data
    .omit({ upstream: true })
    .extend({ answer: z.string().default('') })
    .strip(),
} satisfies { [Type in EventType]: z.ZodType<Extract<EventBody, { type: Type }>['data']> };

const TOO_DEEP = `arrays and objects nest deeper than ${MAX_JSON_DEPTH}`;

function badEvent(type: EventType, path: readonly PropertyKey[], problem = ''): FabricError {
  return failure('bad_event', { type, field: path.map(String).join('.'), problem });
}

function withoutNulls(data: unknown): unknown {
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));
}

/** Parses a text as JSON; a text that is not JSON, or is too large, stays a text. */
export function parseOrText(text: string): unknown {
  const value = jsonExcess(text, UPSTREAM_JSON_LIMITS) ? undefined : tryParseJson(text);
  return value === undefined || exceedsDepth(value) ? text : value;
}
