import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createTrace,
  fromHeaders,
  fromMeta,
  mergeOrigins,
  toHeaders,
  toMeta,
  toW3cSpanId,
} from '../src/index.ts';

const hop = fc.record({
  depth: fc.integer({ min: 0, max: 1000 }),
  chain: fc.array(fc.constantFrom('a/x', 'b/fs:read', 'c-1/z.z'), { maxLength: 6 }),
});

describe('propagation', () => {
  it.each([
    ['headers', toHeaders, fromHeaders],
    ['metadata', toMeta, fromMeta],
  ] as const)('carries trace, parent span, depth and chain in %s', (_, write, read) => {
    fc.assert(
      fc.property(hop, (sent) => {
        const trace = createTrace();
        const got = read(write(trace, sent));
        expect(got.traceId).toBe(trace.trace_id);
        expect(toW3cSpanId(got.parentSpanId ?? '')).toBe(toW3cSpanId(trace.span_id));
        expect(got.hop).toEqual(sent);
      }),
    );
  });

  it('writes header values that cannot break a header', () => {
    for (const value of Object.values(toHeaders(createTrace(), { depth: 2, chain: ['a/x'] }))) {
      expect(value).toMatch(/^[\x20-\x7e]+$/);
    }
  });

  it('takes a call without any of them as a root call', () => {
    expect(fromHeaders({})).toEqual({
      traceId: undefined,
      named: false,
      parentSpanId: undefined,
      hop: { depth: 1, chain: [] },
      depthIsStated: false,
    });
  });

  it('[A5] reads the keys of metadata in any case', () => {
    const { trace_id } = createTrace();
    const meta = {
      'X-OpenStarry-Trace-ID': trace_id,
      'X-OpenStarry-Depth': 4,
      'X-OPENSTARRY-CHAIN': 'a/x,b/y',
    };
    expect(fromMeta(meta)).toMatchObject({
      traceId: trace_id,
      named: true,
      hop: { depth: 4, chain: ['a/x', 'b/y'] },
      depthIsStated: true,
    });
  });

  it('[A5] refuses spellings of one key that disagree, and takes those that agree', () => {
    const { trace_id } = createTrace();
    const meta = { 'x-openstarry-trace-id': trace_id, 'x-openstarry-depth': '2' };
    const plain = trace_id.replaceAll('-', '').toUpperCase();
    const same = { ...meta, 'X-OpenStarry-Trace-ID': plain, 'X-OpenStarry-Depth': 2 };
    expect(fromMeta(same)).toEqual(fromMeta(meta));
    for (const other of [
      { 'X-OpenStarry-Trace-ID': createTrace().trace_id },
      { 'X-OpenStarry-Depth': 1 },
      { 'io.starloom/chain': 'a/x', 'X-OpenStarry-Chain': 'b/y' },
    ]) {
      const refusal = expect.objectContaining({ code: 'BAD_INPUT' });
      expect(() => fromMeta({ ...meta, ...other })).toThrow(refusal);
    }
  });

  it('takes the trace from traceparent when there is no id of ours', () => {
    const trace = createTrace();
    const { traceparent } = toHeaders(trace, { depth: 1, chain: [] });
    expect(fromHeaders({ traceparent })).toMatchObject({ traceId: trace.trace_id, named: false });
  });

  it('does not take the parent span of another trace', () => {
    const { traceparent } = toHeaders(createTrace(), { depth: 1, chain: [] });
    const named = createTrace().trace_id;
    const origin = fromHeaders({ traceparent, 'x-openstarry-trace-id': named });
    expect(origin).toMatchObject({ traceId: named, parentSpanId: undefined });
  });

  it('does not read inherited keys', () => {
    const carrier = Object.create({ 'x-openstarry-depth': '4' });
    expect(fromMeta(carrier).hop.depth).toBe(1);
  });

  it('does not join the span of one trace with the id of another', () => {
    const first = fromMeta({ 'x-openstarry-trace-id': createTrace().trace_id });
    const second = fromHeaders(toHeaders(createTrace(), { depth: 1, chain: [] }));
    expect(mergeOrigins(first, second).parentSpanId).toBeUndefined();
  });

  it('joins two carriers of one call, the larger depth winning', () => {
    fc.assert(
      fc.property(hop, hop, (first, second) => {
        const one = fromHeaders(toHeaders(createTrace(), first));
        const two = fromMeta(toMeta(createTrace(), second));
        const both = mergeOrigins(one, two);
        expect(both.traceId).toBe(one.traceId);
        expect(both.hop.depth).toBe(Math.max(first.depth, second.depth));
        expect(both.hop.chain).toEqual(first.chain.length > 0 ? first.chain : second.chain);
      }),
    );
  });
});
