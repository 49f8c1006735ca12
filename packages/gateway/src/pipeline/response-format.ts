// What a caller asked the answer to be. Whatever the protocol of an agent, `text` has its answer in words,
// `json` has `data`, and `toolcalls` has `tool_calls`: those it reported, else those it answered with.

import { type CallResult, type Envelope, isObject, type ToolCallRecord } from '@starloom/core';

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
