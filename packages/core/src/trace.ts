// Trace context. A trace id is any 32 hex digits shown as a UUID (W3C ids are not RFC 4122 UUIDs);
// the W3C trace-id is the same digits without dashes. A span id has 32 digits, W3C has 16: outward
// the first 16 are used, inward 16 zeros are appended.

import type { z } from 'zod';
import type { traceSchema } from './payload-schemas.ts';

export const HEX_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ZERO_TRACE = '0'.repeat(32);
const ZERO_SPAN = '0'.repeat(16);

export type Trace = z.infer<typeof traceSchema>;

export function createTrace(traceId: string = newId()): Trace {
  return { trace_id: traceId, span_id: newId(), parent_span_id: null };
}

/** A new span below `parent`, on the same trace. */
export function childTrace(parent: Trace): Trace {
  return { trace_id: parent.trace_id, span_id: newId(), parent_span_id: parent.span_id };
}

/** Any spelling of 32 hex digits, dashes or not, any case; `undefined` when it is none. */
export function parseTraceId(text: string): string | undefined {
  const digits = text.trim().replaceAll('-', '').toLowerCase();
  if (!/^[0-9a-f]{32}$/.test(digits) || digits === ZERO_TRACE) return undefined;
  return toDashed(digits);
}

export function toW3cTraceId(traceId: string): string {
  return toW3cSpanId(traceId) + traceId.slice(19, 23) + traceId.slice(24);
}

export function toW3cSpanId(spanId: string): string {
  return spanId.slice(0, 8) + spanId.slice(9, 13) + spanId.slice(14, 18);
}

export function fromW3cSpanId(digits: string): string {
  return toDashed(digits + ZERO_SPAN);
}

/** The `traceparent` header of a call made inside `trace`. */
export function toTraceparent(trace: Trace, sampled = true): string {
  return `00-${toW3cTraceId(trace.trace_id)}-${toW3cSpanId(trace.span_id)}-${sampled ? '01' : '00'}`;
}

/**
 * The caller's position from `traceparent`, or `undefined` when the header must be ignored: W3C
 * asks to start afresh on a malformed one, and to read higher versions by their first four fields.
 */
export function parseTraceparent(
  header: string,
): { traceId: string; spanId: string; sampled: boolean } | undefined {
  const [, version, traceId, spanId, flags, rest] = TRACEPARENT.exec(header.trim()) ?? [];
  if (!version || !traceId || !spanId || !flags || version === 'ff') return undefined;
  if (version === '00' && rest !== undefined) return undefined;
  if (traceId === ZERO_TRACE || spanId === ZERO_SPAN) return undefined;
  const sampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { traceId: toDashed(traceId), spanId: fromW3cSpanId(spanId), sampled };
}

function newId(): string {
  return crypto.randomUUID();
}

function toDashed(digits: string): string {
  return [8, 12, 16, 20, 32]
    .map((end, index, ends) => digits.slice(ends[index - 1] ?? 0, end))
    .join('-');
}
