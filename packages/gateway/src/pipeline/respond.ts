// The one place where outcomes become MCP results and errors become payloads.

import {
  type CallResult,
  type Envelope,
  ERROR_META_KEY,
  type ErrorPayload,
  FabricError,
  type Fields,
  type InputRequest,
  isObject,
  type ToolCallRecord,
  type Trace,
} from '@starloom/core';
import { META_CALL, toFailedResult } from '@starloom/mcp-client/server';
import { toReadable } from '../mcp/names.ts';
import type { Caller } from './call-request.ts';
import type { Dispatched } from './dispatch.ts';

export interface ToolResult {
  readonly [key: string]: unknown;
  readonly content: readonly Record<string, unknown>[];
  readonly structuredContent?: Record<string, unknown>;
  readonly isError?: boolean;
  readonly _meta?: Record<string, unknown>;
}

export const META_CONVERSATION = 'io.starloom/conversation';

/** Success of one of our own tools on its trace: the same JSON twice, for machines and for models. */
export function toResult(payload: object, trace: Trace): ToolResult {
  const answer = { ...payload, trace };
  return { content: [textOf(answer)], structuredContent: answer };
}

/** Failure of one of our own tools. */
export function toErrorResult(payload: ErrorPayload): ToolResult {
  return { isError: true, content: [textOf(payload)], structuredContent: { ...payload } };
}

/** The answer of `fabric.call`. */
export function toCallResult(
  { result, agent_id, capability, attempts, fallback, conversation_id }: Dispatched,
  trace: Trace,
): ToolResult {
  const { upstream: _, ...rest } = result;
  const answer = { ok: true, result: rest, agent_id, capability, attempts, fallback };
  return toResult(conversation_id === undefined ? answer : { ...answer, conversation_id }, trace);
}

/** The answer of a capability's own tool: what the agent wrote, ours in `_meta` alone. */
export function toCapabilityResult(dispatched: Dispatched, trace: Trace): ToolResult {
  const { result, agent_id, attempts, fallback, conversation_id } = dispatched;
  const call: Fields = { [META_CALL]: { agent_id, attempts, fallback, trace } };
  if (conversation_id !== undefined) call[META_CONVERSATION] = conversation_id;
  if (result.upstream) return withMeta(result.upstream, call);
  const content = result.content ?? [{ type: 'text', text: result.answer }];
  const { data } = result;
  return { content, ...(isObject(data) && { structuredContent: { ...data } }), _meta: call };
}

/** What asks the caller, when an agent asked and the caller's protocol can pass that on. */
export function askingResult(error: FabricError, caller: Caller): ToolResult | undefined {
  const { inputs, conversation_id } = error.details;
  if (error.code !== 'INPUT_REQUIRED' || typeof conversation_id !== 'string') return undefined;
  return caller.toInputRequired?.(inputs as InputRequest[], conversation_id);
}

/** A failure of ours as payload; an error that the agent answered with as the agent wrote it. */
export function toCapabilityErrorResult(error: FabricError, trace: Trace): ToolResult {
  const payload = error.toPayload(trace);
  if (!error.answer) return toFailedResult(payload);
  const { agent_id, attempts, fallback } = error.details;
  const call = { agent_id, attempts, fallback, trace };
  return withMeta(error.answer, { [META_CALL]: call, [ERROR_META_KEY]: payload });
}

function withMeta(
  answer: Readonly<Record<string, unknown>>,
  ours: Record<string, unknown>,
): ToolResult {
  const { content = [] } = answer as Partial<ToolResult>;
  const _meta = isObject(answer._meta) ? { ...answer._meta, ...ours } : ours;
  return { ...answer, content, _meta };
}

/** The payload of any thrown value, on the trace the caller named or a new one. */
export function toPayload(error: unknown, trace: Trace): ErrorPayload {
  return FabricError.from(error).toPayload(trace);
}

function textOf(payload: unknown) {
  return { type: 'text', text: JSON.stringify(payload) };
}

// What a caller asked the answer to be. Whatever the protocol of an agent, `text` has its answer in words,
// `json` has `data`, and `toolcalls` has `tool_calls`: those it reported, else those it answered with.

export function toFormat(result: CallResult, format: Envelope['response']['format']): CallResult {
  const { answer, data } = result;
  const worded = answer === '' && data !== undefined ? { ...result, answer: toText(data) } : result;
  if (format === 'text') return worded;
  const read = data ?? parseJson(answer);
  if (format === 'json') return { ...worded, data: read ?? { answer } };
  return { ...worded, tool_calls: result.tool_calls ?? toToolCalls(read) };
}

function toText(data: unknown): string {
  return typeof data === 'string' ? data : JSON.stringify(data);
}

/** Models like to put JSON into a fence. */
const FENCED = /^```(?:json)?\s*\n([\s\S]*)\n```$/;

function parseJson(text: string): unknown {
  const trimmed = text.trim();
  try {
    return JSON.parse(FENCED.exec(trimmed)?.[1] ?? trimmed);
  } catch {
    return undefined;
  }
}

/** A list of calls, or the `tool_calls` of an object, as the model APIs write them. */
function toToolCalls(answer: unknown): ToolCallRecord[] {
  const listed = isObject(answer) ? answer.tool_calls : answer;
  return Array.isArray(listed) ? listed.flatMap(toToolCall) : [];
}

function toToolCall(value: unknown): ToolCallRecord[] {
  if (!isObject(value)) return [];
  const named = isObject(value.function) ? value.function : value;
  const { name, args = named.arguments ?? named.input } = named;
  if (typeof name !== 'string') return [];
  const id = typeof value.id === 'string' ? value.id : crypto.randomUUID();
  const given = typeof args === 'string' ? (parseJson(args) ?? args) : args;
  return [{ id, name, args: given ?? {}, ...('result' in value && { result: value.result }) }];
}

// Links to resources in what an MCP agent answers, rewritten so that the caller can read them here.

/** The answer with its links; the same object when there are none. */
export function withReadableLinks<Answer extends Readonly<Fields>>(
  answer: Answer,
  agentId: string,
): Answer {
  const { content } = answer;
  if (!Array.isArray(content) || !content.some(hasLink)) return answer;
  return { ...answer, content: content.map((block) => toReadable(block, agentId)) };
}

function hasLink(block: unknown): boolean {
  return isObject(block) && (block.type === 'resource_link' || block.type === 'resource');
}
