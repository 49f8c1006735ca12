import { createTrace, META, type Trace, toHeaders, toMeta } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { AgentGuard, outgoingCall, toAgentId } from '../src/guard.ts';

const refusal = (details: object) =>
  expect.objectContaining({ code: 'RECURSION_LIMIT', details: expect.objectContaining(details) });
const metaOf = (depth: number, chain: string[] = [], trace: Trace = createTrace()) =>
  toMeta(trace, { depth, chain });

describe('the recursion guard of an agent', () => {
  it('puts its own link on the chain of what it serves, and one hop on what it sends', () => {
    const guard = new AgentGuard({ name: 'b' });
    const trace = createTrace();
    using call = guard.admit({ meta: metaOf(2, ['a/x'], trace) }, 'fs:read_file');
    expect(call.hop).toEqual({ depth: 2, chain: ['a/x', 'b/fs:read_file'] });
    expect(call.trace).toMatchObject({ trace_id: trace.trace_id });
    const sent = outgoingCall(call);
    expect(sent.hop).toEqual({ depth: 3, chain: ['a/x', 'b/fs:read_file'] });
    expect(sent.trace.span_id).toBe(call.trace.span_id);
  });

  it('serves depth 5 and refuses 6 with the chain, whether headers or metadata say so', () => {
    const guard = new AgentGuard({ name: 'b' });
    expect(guard.admit({ meta: metaOf(5) }, 'work').hop.depth).toBe(5);
    const chain = ['a/x', 'c/y'];
    expect(() => guard.admit({ meta: metaOf(6, chain) }, 'work')).toThrow(
      refusal({ depth: 6, limit: 5, chain }),
    );
    const headers = toHeaders(createTrace(), { depth: 6, chain });
    expect(() => guard.admit({ headers, meta: { [META.depth]: 2 } }, 'work')).toThrow(
      refusal({ depth: 6 }),
    );
  });

  it('names the cycle that a call would close, and keeps the trace refused', () => {
    const guard = new AgentGuard({ name: 'a' });
    const trace = createTrace();
    const meta = metaOf(4, ['a/work', 'b/work', 'c/work'], trace);
    expect(() => guard.admit({ meta }, 'work')).toThrow(
      refusal({ cycle: ['a/work', 'b/work', 'c/work', 'a/work'] }),
    );
    expect(() => guard.admit({ meta: metaOf(1, [], trace) }, 'other')).toThrow(
      refusal({ reason: 'tripped' }),
    );
  });

  it('does not take the link with which a gateway announces a call for a cycle', () => {
    const guard = new AgentGuard({ name: 'a' });
    const trace = createTrace();
    const meta = metaOf(1, ['a/work'], trace);
    using first = guard.admit({ meta }, 'work');
    using second = guard.admit({ meta }, 'work');
    expect([first, second].map(({ hop }) => hop)).toEqual([
      { depth: 1, chain: ['a/work'] },
      { depth: 1, chain: ['a/work'] },
    ]);
  });

  it('knows a call of its own that comes straight back', () => {
    const guard = new AgentGuard({ name: 'a' });
    using call = guard.admit({ meta: metaOf(1, ['a/work']) }, 'work');
    const { trace, hop } = outgoingCall(call);
    expect(() => guard.admit({ meta: toMeta(trace, hop) }, 'work')).toThrow(
      refusal({ cycle: ['a/work', 'a/work'] }),
    );
  });

  it('counts on when the depth is dropped, and when the trace is', () => {
    const guard = new AgentGuard({ name: 'a' });
    using call = guard.admit({ meta: metaOf(4) }, 'work');
    const withoutDepth = { [META.trace]: call.trace.trace_id };
    expect(guard.admit({ meta: withoutDepth }, 'other').hop.depth).toBe(5);
    expect(() => guard.admit({ meta: { [META.depth]: 6 } }, 'other')).toThrow(
      refusal({ depth: 6 }),
    );
  });

  it('stops agents that call each other for ever and pass on nothing but the trace', () => {
    const guard = new AgentGuard({ name: 'a' });
    const { trace_id } = createTrace();
    const serve = (): number => {
      using _ = guard.admit({ meta: { [META.trace]: trace_id } }, 'work');
      return 1 + serve();
    };
    expect(serve).toThrow(refusal({ depth: 6 }));
  });

  it('forgets a call once it is answered', () => {
    const guard = new AgentGuard({ name: 'a' });
    const { trace_id } = createTrace();
    for (let n = 0; n < 10; n += 1) {
      using call = guard.admit({ meta: { [META.trace]: trace_id } }, 'work');
      expect(call.hop.depth).toBe(1);
    }
  });

  it('recognises what comes back of a turn that a person began', () => {
    const guard = new AgentGuard({ name: 'a' });
    const trace = createTrace();
    using _ = guard.enter({ trace, hop: { depth: 1, chain: [] } });
    const { hop } = guard.admit({ meta: { [META.trace]: trace.trace_id } }, 'ask');
    expect(hop.depth).toBe(2);
  });

  it.each([-1, 1001, 'deep', 1.5, '0x5', null])('refuses a depth of %j', (depth) => {
    const guard = new AgentGuard({ name: 'a' });
    expect(() => guard.admit({ meta: { [META.depth]: depth } }, 'work')).toThrow(
      expect.objectContaining({ code: 'BAD_INPUT' }),
    );
  });

  it.each([
    ['openstarry-coder', 'openstarry-coder'],
    ['Research Desk (EU)', 'research-desk-eu'],
    ['__x', 'x'],
    ['東京', 'agent'],
    ['a'.repeat(100), 'a'.repeat(31)],
  ])('writes the name %j on chains as %j', (name, id) => {
    expect(toAgentId(name)).toBe(id);
    const { hop } = new AgentGuard({ name }).admit({}, 'some tool/ä');
    expect(hop.chain).toEqual([`${id}/some_tool__`]);
  });
});
