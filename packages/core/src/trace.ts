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

export function createTrace(traceId: string = newId(), parentSpanId?: string): Trace {
  return { trace_id: traceId, span_id: newId(), parent_span_id: parentSpanId ?? null };
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

const traceparent = Buffer.from(`00-${ZERO_TRACE}-${ZERO_SPAN}-01`);

/** The `traceparent` header of a call made inside `trace`; one flat text, as `newId` says why. */
export function toTraceparent(trace: Trace, sampled = true): string {
  copyDigits(trace.trace_id, 3, 32);
  copyDigits(trace.span_id, 36, 16);
  traceparent[54] = sampled ? 0x31 : 0x30;
  return traceparent.toString('latin1');
}

function copyDigits(id: string, start: number, count: number): void {
  let place = start;
  for (let at = 0; place < start + count; at += 1) {
    const code = id.charCodeAt(at);
    if (code !== DASH) traceparent[place++] = code;
  }
}

const DASH = 0x2d;

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

const DIGITS = Buffer.from('0123456789abcdef');
/** Where the digits of each byte stand in a UUID. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const random = Buffer.alloc(PLACES.length * 256);
let used = random.length;
const uuid = Buffer.from('00000000-0000-4000-8000-000000000000');

/**
 * A random UUID. `crypto.randomUUID` gives a chain of pieces, which V8 puts together again wherever the text is
 * read; with one in it, `JSON.stringify` takes its slow path. The ids of a trace are in every line and entry.
 */
function newId(): string {
  if (used === random.length) {
    crypto.getRandomValues(random);
    for (used = 0; used < random.length; used += PLACES.length) {
      // Version 4, and the variant of RFC 9562.
      random[used + 6] = 0x40 | ((random[used + 6] ?? 0) & 0x0f);
      random[used + 8] = 0x80 | ((random[used + 8] ?? 0) & 0x3f);
    }
    used = 0;
  }
  for (const place of PLACES) {
    const byte = random[used] ?? 0;
    used += 1;
    uuid[place] = DIGITS[byte >> 4] ?? 0;
    uuid[place + 1] = DIGITS[byte & 15] ?? 0;
  }
  return uuid.toString('latin1');
}

function toDashed(digits: string): string {
  return [8, 12, 16, 20, 32]
    .map((end, index, ends) => digits.slice(ends[index - 1] ?? 0, end))
    .join('-');
}
