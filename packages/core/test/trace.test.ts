import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  childTrace,
  createTrace,
  fromW3cSpanId,
  parseTraceId,
  parseTraceparent,
  toTraceparent,
  toW3cSpanId,
  toW3cTraceId,
  traceSchema,
} from '../src/index.ts';

const hex = (digits: number) =>
  fc
    .array(fc.constantFrom(...'0123456789abcdef'), { minLength: digits, maxLength: digits })
    .map((list) => list.join(''))
    .filter((text) => !/^0+$/.test(text));

describe('trace', () => {
  it('starts at a root span and goes on below it', () => {
    const root = createTrace();
    expect(traceSchema.parse(root)).toEqual(root);
    expect(root.parent_span_id).toBeNull();
    const child = childTrace(root);
    expect(child).toMatchObject({ trace_id: root.trace_id, parent_span_id: root.span_id });
    expect(child.span_id).not.toBe(root.span_id);
  });

  it('gives every span a random id of its own', () => {
    const root = createTrace();
    const ids = Array.from({ length: 2_000 }, () => childTrace(root).span_id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
  });

  it('maps any 32 hex digits to a trace id and back without loss', () => {
    fc.assert(
      fc.property(hex(32), (digits) => {
        const id = parseTraceId(digits) ?? expect.fail();
        expect(toW3cTraceId(id)).toBe(digits);
        expect(parseTraceId(id)).toBe(id);
        expect(parseTraceId(id.toUpperCase())).toBe(id);
        expect(traceSchema.shape.trace_id.safeParse(id).success).toBe(true);
      }),
    );
  });

  it('maps a W3C span id to 32 digits and back without loss', () => {
    fc.assert(
      fc.property(hex(16), (digits) => {
        expect(toW3cSpanId(fromW3cSpanId(digits))).toBe(digits);
        expect(fromW3cSpanId(digits).replaceAll('-', '')).toBe(digits + '0'.repeat(16));
      }),
    );
  });

  it('reads back the traceparent it writes', () => {
    fc.assert(
      fc.property(fc.boolean(), (sampled) => {
        const trace = createTrace();
        const parsed = parseTraceparent(toTraceparent(trace, sampled));
        expect(parsed?.traceId).toBe(trace.trace_id);
        expect(parsed?.sampled).toBe(sampled);
        expect(toW3cSpanId(parsed?.spanId ?? '')).toBe(toW3cSpanId(trace.span_id));
      }),
    );
  });

  it('reads a higher version by its first four fields', () => {
    const header = `cc-${'1'.repeat(32)}-${'2'.repeat(16)}-01-what-the-future-brings`;
    expect(parseTraceparent(header)).toMatchObject({ sampled: true });
  });

  it.each([
    'not a traceparent',
    '',
    `00-${'0'.repeat(32)}-${'2'.repeat(16)}-01`,
    `00-${'1'.repeat(32)}-${'0'.repeat(16)}-01`,
    `ff-${'1'.repeat(32)}-${'2'.repeat(16)}-01`,
    `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01-more`,
    `00-${'A'.repeat(32)}-${'2'.repeat(16)}-01`,
  ])('ignores %j', (header) => {
    expect(parseTraceparent(header)).toBeUndefined();
  });

  it.each(['', 'abc', '0'.repeat(32), `${'1'.repeat(31)}g`])('is no trace id: %j', (text) => {
    expect(parseTraceId(text)).toBeUndefined();
  });
});
