// What servers of the Agent Communication Protocol send, as far as it is used here. Unknown fields
// and unknown event types are passed over; what carries content or names a run must be right.

import { exceedsDepth } from '@starloom/core';
import { z } from 'zod';
import { failure } from '../reasons.ts';

/** Stands in paths of requests, so it cannot be just any text. */
const runIdSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/);
const sessionIdSchema = z.string().min(1).max(256);

const metadataSchema = z.looseObject({ kind: z.string() });

const partSchema = z.object({
  name: z.string().nullish(),
  content_type: z.string().min(1).nullish(),
  content: z.string().nullish(),
  content_encoding: z.enum(['plain', 'base64']).nullish(),
  content_url: z.string().nullish(),
  metadata: metadataSchema.nullish(),
});

const messageSchema = z.object({ role: z.string().nullish(), parts: z.array(partSchema) });

const errorSchema = z.object({ code: z.string().nullish(), message: z.string().nullish() });

const RUN_STATES = [
  'created',
  'in-progress',
  'awaiting',
  'cancelling',
  'cancelled',
  'completed',
  'failed',
] as const;

const runSchema = z.object({
  run_id: runIdSchema,
  session_id: sessionIdSchema.nullish(),
  status: z.enum(RUN_STATES),
  await_request: z.object({ message: messageSchema.nullish() }).nullish(),
  output: z.array(messageSchema).nullish(),
  error: errorSchema.nullish(),
});

export type Part = z.infer<typeof partSchema>;
export type Message = z.infer<typeof messageSchema>;
export type ProtocolError = z.infer<typeof errorSchema>;
export type Run = z.infer<typeof runSchema>;

export type RunEvent =
  | { readonly type: 'run'; readonly run: Run }
  /** One began or ended. */
  | { readonly type: 'message' }
  | { readonly type: 'part'; readonly part: Part }
  | { readonly type: 'generic'; readonly generic: unknown }
  | { readonly type: 'error'; readonly error: ProtocolError }
  | { readonly type: 'unknown'; readonly name: string };

const eventSchema = z.looseObject({ type: z.string() });
const eventsSchema = z.object({ events: z.array(z.unknown()) });

export function parseRun(value: unknown): Run {
  return parse(runSchema, value, 'run');
}

export function isRunId(value: unknown): value is string {
  return runIdSchema.safeParse(value).success;
}

export function parseEvents(value: unknown): readonly unknown[] {
  return parse(eventsSchema, value, 'events').events;
}

export function parseRunEvent(value: unknown): RunEvent {
  const event = parse(eventSchema, value, 'event');
  switch (event.type) {
    case 'run.created':
    case 'run.in-progress':
    case 'run.awaiting':
    case 'run.completed':
    case 'run.failed':
    case 'run.cancelled':
      return { type: 'run', run: parse(runSchema, event.run, event.type) };
    case 'message.created':
    case 'message.completed':
      return { type: 'message' };
    case 'message.part':
      return { type: 'part', part: parse(partSchema, event.part, event.type) };
    case 'generic':
      return { type: 'generic', generic: event.generic };
    case 'error':
      return { type: 'error', error: parse(errorSchema, event.error, event.type) };
    default:
      return { type: 'unknown', name: event.type };
  }
}

function parse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  what: string,
): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success && !exceedsDepth(value)) return parsed.data;
  const issue = parsed.error?.issues[0];
  throw failure('bad_event', {
    type: what,
    field: issue?.path.map(String).join('.') ?? '',
    problem: issue?.message ?? 'arrays and objects nest too deep',
    fix: 'answer as version 0.2.0 of the protocol says',
  });
}
