// What an MCP agent says before its result.

import type { JSONRPCNotification } from '@modelcontextprotocol/client';
import {
  bounded,
  type CallContext,
  type EventBody,
  eventBodySchema,
  isObject,
  type Log,
} from '@starloom/core';
import { isQuestion, type McpCall, type Said, toProgress } from '@starloom/mcp-client';
import { askCaller } from './questions.ts';

const EVENT_KEY = 'io.starloom/event';

/** The event that it is, if any; questions are answered, other notifications passed on. */
export async function take(
  said: Said,
  call: McpCall,
  context: CallContext,
): Promise<EventBody | undefined> {
  if (isQuestion(said)) {
    await call.answer(said, (signal) => askCaller(said, context, signal));
    return undefined;
  }
  const body = toEventBody(said);
  if (body) return body;
  if (context.notify) await context.notify(said);
  else logNotification(context.log, said);
  return undefined;
}

/** An event of ours that rides in a progress notification, else the progress itself. */
export function toEventBody(notification: JSONRPCNotification): EventBody | undefined {
  const { method, params = {} } = notification;
  if (method !== 'notifications/progress') return undefined;
  const { percent, message, counted } = toProgress(notification);
  const upstream = counted && { upstream: counted };
  const carried: unknown = isObject(params._meta) ? params._meta[EVENT_KEY] : undefined;
  if (isObject(carried)) {
    const parsed = eventBodySchema.safeParse({ type: carried.type, data: carried.data });
    const { data: body } = parsed;
    if (body?.type === 'progress') return { ...body, data: { ...body.data, ...upstream } };
    if (body) return body;
  }
  return {
    type: 'progress',
    data: {
      ...(percent === undefined ? {} : { percent }),
      ...(message === undefined ? {} : { message }),
      ...upstream,
    },
  };
}

function logNotification(log: Log, { method, params }: JSONRPCNotification): void {
  const said = bounded(JSON.stringify(params?.data ?? null));
  log.debug({ method, level: params?.level, said }, 'agent log');
}
