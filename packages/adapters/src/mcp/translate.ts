// Between our words and those of MCP: what a call is as a tool call, and what comes back of it.

import {
  CLIENT_CAPABILITIES_META_KEY,
  type JSONRPCNotification,
  LOG_LEVEL_META_KEY,
} from '@modelcontextprotocol/client';
import {
  bounded,
  type CallContext,
  type Envelope,
  ERROR_META_KEY,
  type EventBody,
  eventBodySchema,
  FabricError,
  type Fields,
  type FinalData,
  fromErrorPayload,
  isObject,
  TOOL_ERROR,
  toMandateMeta,
  toMeta,
} from '@starloom/core';
import { toProgress } from '@starloom/mcp-client';

const EVENT_KEY = 'io.starloom/event';

const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

const MAX_SAID = 16_384;

type ContentBlock = { type: string; [key: string]: unknown };

export function toToolCall(
  name: string,
  toolArguments: Fields,
  { trace, hop }: Envelope,
  { meta, declared, ask, mandate }: Pick<CallContext, 'meta' | 'declared' | 'ask' | 'mandate'>,
): Fields {
  const _meta: Fields = {
    ...meta,
    ...toMeta(trace, hop),
    ...toMandateMeta({ mandate }),
    ...(ask && CAN_BE_ASKED),
  };
  for (const key of [CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY]) {
    if (declared?.[key] !== undefined) _meta[key] = withoutTasks(declared[key]);
  }
  return { name, arguments: toolArguments, _meta };
}

/** The gateway waits for the agent's result: an agent must not answer it with a task of its own. */
function withoutTasks(declared: unknown): unknown {
  if (!isObject(declared) || !isObject(declared.extensions)) return declared;
  const { [TASKS_EXTENSION]: _, ...extensions } = declared.extensions;
  return { ...declared, extensions };
}

/** Of a caller that speaks another protocol: it answers questions for people. */
const CAN_BE_ASKED = { [CLIENT_CAPABILITIES_META_KEY]: { elicitation: { form: {}, url: {} } } };

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

/**
 * The result of a tool as the last event. `sent` is the final event the agent sent before, if it is
 * one of ours: it knows of citations, a result does not. Throws when the tool failed.
 */
export function toFinal(result: Fields, sent: FinalData | undefined): EventBody {
  const content = contentOf(result);
  if (result.isError === true) throw toolFailure(result, content);
  const data = 'structuredContent' in result ? result.structuredContent : result.toolResult;
  return {
    type: 'final',
    data: {
      answer: content.flatMap(textOf).join('\n'),
      content,
      ...(data === undefined ? {} : { data }),
      ...(sent?.citations ? { citations: sent.citations } : {}),
      upstream: result,
    },
  };
}

/** Whether the agent wants input before it goes on; throws for a result that is neither. */
export function wantsInput({ resultType = 'complete' }: Fields): boolean {
  if (resultType === 'input_required') return true;
  if (resultType === 'complete') return false;
  throw new FabricError('UPSTREAM_ERROR', 'The agent answered with something other than a result', {
    details: { reason: 'unsupported_result', result_type: bounded(String(resultType)) },
  });
}

function toolFailure(result: Fields, content: ContentBlock[]): FabricError {
  const meta = isObject(result._meta) ? result._meta : {};
  const ours = fromErrorPayload(meta[ERROR_META_KEY]);
  if (ours && !ours.isAgentAnswer) return ours;
  const said = content.flatMap(textOf).join('\n');
  const upstream = said === '' ? 'The tool gave no reason' : clipped(said);
  return new FabricError('UPSTREAM_ERROR', 'The tool answered with an error', {
    details: { reason: TOOL_ERROR, upstream, fix: 'see details.upstream' },
    answer: result,
  });
}

/** Whole unless it is so long that logs and payloads would suffer; `answer` has all of it. */
function clipped(text: string): string {
  return text.length <= MAX_SAID ? text : `${text.slice(0, MAX_SAID)}…`;
}

function contentOf(result: Fields): ContentBlock[] {
  return Array.isArray(result.content) ? result.content.filter(isContentBlock) : [];
}

function isContentBlock(value: unknown): value is ContentBlock {
  return isObject(value) && typeof value.type === 'string';
}

function textOf({ type, text }: ContentBlock): string | [] {
  return type === 'text' && typeof text === 'string' ? text : [];
}
