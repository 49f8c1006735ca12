// The answers of the http contract: the result as JSON, or a stream whose events come whole or as
// their data only.

import { type EventBody, toFields } from '@starloom/core';
import { type Excerpt, parseUpstreamJson, type SseEvent } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { isEventType, readEvent } from '../upstream/read-event.ts';
import { isErrorPayload, reportedError } from '../upstream/reported-error.ts';

/** `{answer, …}` or `{ok: true, result}` as the events it amounts to; throws what it reports. */
export function fromResult(value: unknown, excerpt: Excerpt): EventBody[] {
  if (isErrorPayload(value)) throw reportedError(value.error, excerpt);
  const outer = toFields(value);
  const result = outer.ok === true ? toFields(outer.result) : outer;
  if (RESULT_FIELDS.every((field) => result[field] === undefined)) throw failure('bad_result');
  return [...fromToolCalls(result.tool_calls), readEvent('final', result)];
}

/** `undefined` for an event to pass over; throws an error that the agent reports. */
export function fromSseEvent({ event, data }: SseEvent, excerpt: Excerpt): EventBody | undefined {
  if (event !== 'message' && event !== 'error' && !isEventType(event)) return undefined;
  const fields = toFields(parseUpstreamJson(data));
  const isWhole = typeof fields.type === 'string' && ('data' in fields || 'error' in fields);
  const type = isWhole ? String(fields.type) : event;
  if (type === 'error') throw reportedError(fields.error ?? fields, excerpt);
  return readEvent(type, isWhole ? fields.data : fields);
}

const RESULT_FIELDS = ['answer', 'data', 'citations', 'content'];

/** The tool calls of a collected result, as the two events each was made of. */
function fromToolCalls(records: unknown): EventBody[] {
  if (!Array.isArray(records)) return [];
  return records
    .map(toFields)
    .flatMap((record) => [
      readEvent('tool_call', { ...record, phase: 'start', result: null }),
      readEvent('tool_call', { ...record, phase: 'end' }),
    ]);
}
