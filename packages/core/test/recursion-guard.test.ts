import { describe, expect, it, vi } from 'vitest';
import { createTrace, fromMeta, META, type Origin, RecursionGuard, toMeta } from '../src/index.ts';

const rootOf = (traceId: string): Origin => fromMeta({ [META.trace]: traceId });
const at = (traceId: string, depth: number, chain: string[] = []): Origin => ({
  ...rootOf(traceId),
  hop: { depth, chain },
});
const refusal = (details: object) =>
  expect.objectContaining({
    code: 'RECURSION_LIMIT',
    details: expect.objectContaining(details),
  });

describe('the recursion guard', () => {
  it('serves depth 5 and refuses 6 with the chain, on a trace and without one', () => {
    const guard = new RecursionGuard();
    const { trace_id } = createTrace();
    expect(guard.admit(at(trace_id, 5)).hop.depth).toBe(5);
    const chain = ['a/x', 'b/y'];
    expect(() => guard.admit(at(trace_id, 6, chain))).toThrow(refusal({ depth: 6, chain }));
    const untraced = fromMeta({ [META.depth]: 6 });
    expect(() => guard.admit(untraced)).toThrow(refusal({ depth: 6, limit: 5 }));
  });

  it('goes on refusing a trace that it refused, for ten minutes, and no other', () => {
    let now = 0;
    const onBlocked = vi.fn();
    const clock = { now: () => 0, monotonic: () => now };
    const guard = new RecursionGuard({ clock, onBlocked });
    const { trace_id } = createTrace();
    expect(() => guard.admit(at(trace_id, 6))).toThrow(refusal({ depth: 6 }));
    expect(() => guard.admit(at(trace_id, 1))).toThrow(refusal({ reason: 'tripped' }));
    expect(guard.admit(rootOf(createTrace().trace_id)).hop.depth).toBe(1);
    expect(onBlocked.mock.calls.flat()).toEqual(['depth', 'tripped']);
    now = 10 * 60_000;
    expect(guard.admit(at(trace_id, 1)).hop.depth).toBe(1);
  });

  it('trips the trace of a cycle that it is told of', () => {
    const guard = new RecursionGuard();
    const { trace_id } = createTrace();
    const call = guard.admit(at(trace_id, 2, ['a/x', 'b/y']));
    const cycle = guard.findCycle(call.hop, 'a', 'x') ?? [];
    expect(cycle).toEqual(['a/x', 'b/y', 'a/x']);
    expect(() => guard.refuseCycle(call, cycle)).toThrow(refusal({ cycle, reason: 'cycle' }));
    expect(() => guard.admit(rootOf(trace_id))).toThrow(refusal({ reason: 'tripped' }));
  });

  it('takes a call without depth as one deeper than the deepest in flight on its trace', () => {
    const guard = new RecursionGuard();
    const trace = createTrace();
    const forget = guard.track(trace, { depth: 3, chain: [] });
    expect(guard.admit(rootOf(trace.trace_id)).hop.depth).toBe(4);
    forget();
    expect(guard.admit(rootOf(trace.trace_id)).hop.depth).toBe(1);
  });

  it('takes a root that says so as a root, beside others of its trace', () => {
    const guard = new RecursionGuard();
    const trace = createTrace();
    guard.track(trace, { depth: 3, chain: [] });
    const { hop } = guard.admit(at(trace.trace_id, 1), { depthIsStated: true });
    expect(hop.depth).toBe(1);
  });

  it('knows its own call by the parent span alone, and gives it depth and chain', () => {
    const guard = new RecursionGuard();
    const trace = createTrace();
    const chain = ['a/x', 'b/y'];
    guard.track(trace, { depth: 4, chain });
    const { traceparent } = toMeta(trace, { depth: 1, chain: [] });
    expect(guard.admit(fromMeta({ traceparent })).hop).toEqual({ depth: 5, chain });
    expect(guard.inFlight(trace.trace_id)).toEqual([{ depth: 4, chain }]);
  });

  it('bounds what is in flight on a trace whose depth nobody counts, where it is told to', () => {
    const careful = new RecursionGuard({ uncounted: 2 });
    const guard = new RecursionGuard();
    const trace = createTrace();
    const { traceparent } = toMeta(createTrace(trace.trace_id), { depth: 1, chain: [] });
    const uncounted = fromMeta({ traceparent });
    const admit = (by: RecursionGuard) => {
      const call = by.admit(uncounted);
      by.track(call.trace, call.hop);
    };
    admit(careful);
    admit(careful);
    expect(() => admit(careful)).toThrow(refusal({ reason: 'uncounted', limit: 2 }));
    expect(careful.admit(at(trace.trace_id, 2)).hop.depth).toBe(2);
    for (let n = 0; n < 100; n += 1) admit(guard);
  });

  it('forgets the oldest refused traces when there are too many, not the newest', () => {
    const guard = new RecursionGuard();
    const first = createTrace().trace_id;
    const refuse = (traceId: string) => {
      expect(() => guard.admit(at(traceId, 6))).toThrow(refusal({ depth: 6 }));
    };
    refuse(first);
    for (let n = 0; n < 9_999; n += 1) refuse(createTrace().trace_id);
    const last = createTrace().trace_id;
    refuse(last);
    expect(() => guard.admit(at(last, 1))).toThrow(refusal({ reason: 'tripped' }));
    expect(guard.admit(at(first, 1)).hop.depth).toBe(1);
  });

  describe('and several principals', () => {
    const alice = { principal: 'alice' };
    const eve = { principal: 'eve' };

    it('keeps a caller from tripping the trace of another, or pushing it out of memory', () => {
      const guard = new RecursionGuard();
      const { trace_id } = createTrace();
      expect(() => guard.admit(at(trace_id, 6), eve)).toThrow(refusal({ depth: 6 }));
      expect(guard.admit(rootOf(trace_id), alice).hop.depth).toBe(1);
      expect(() => guard.admit(at(trace_id, 6), alice)).toThrow(refusal({ depth: 6 }));
      for (let n = 0; n < 10_001; n += 1) {
        expect(() => guard.admit(at(createTrace().trace_id, 6), eve)).toThrow();
      }
      expect(() => guard.admit(rootOf(trace_id), alice)).toThrow(refusal({ reason: 'tripped' }));
    });

    it('takes the trace of another as one of its own, unless the caller is an agent on it', () => {
      const guard = new RecursionGuard();
      const call = guard.admit(rootOf(createTrace().trace_id), alice);
      const { trace, root } = call;
      guard.track(trace, { depth: 3, chain: ['coder/code'] }, { root, agentPrincipal: 'coder' });
      expect(guard.admit(rootOf(trace.trace_id), eve)).toMatchObject({
        hop: { depth: 1 },
        root: 'eve',
      });
      const deeper = guard.admit(rootOf(trace.trace_id), { principal: 'coder' });
      expect(deeper).toMatchObject({ hop: { depth: 4 }, root: 'alice' });
    });

    it('knows an agent that drops all its headers by the key it calls back with', () => {
      const guard = new RecursionGuard();
      const coder = { principal: 'coder' };
      let call = guard.admit(fromMeta({}), alice);
      for (let depth = 2; depth <= 5; depth += 1) {
        const { trace, hop, root } = call;
        guard.track(trace, hop, { root, agentPrincipal: 'coder' });
        call = guard.admit(fromMeta({}), coder);
        expect(call).toMatchObject({ hop: { depth }, root: 'alice' });
      }
      guard.track(call.trace, call.hop, { root: call.root, agentPrincipal: 'coder' });
      expect(() => guard.admit(fromMeta({}), coder)).toThrow(refusal({ depth: 6 }));
    });

    it('knows an agent that drops all its headers by the program it calls back from', () => {
      const guard = new RecursionGuard();
      const call = guard.admit(fromMeta({}), alice);
      const { trace, hop, root } = call;
      guard.track(trace, hop, { root, agentPrincipal: 'other' });
      expect(guard.servesStarted).toBe(false);
      const forget = guard.track(trace, { ...hop, depth: 4 }, { root, agentId: 'coder' });
      expect(guard.servesStarted).toBe(true);
      const fromCoder = { ...eve, agentId: 'coder' };
      expect(guard.admit(fromMeta({}), fromCoder)).toMatchObject({
        trace: { trace_id: trace.trace_id },
        hop: { depth: 5 },
        root: 'alice',
      });
      expect(guard.admit(rootOf(trace.trace_id), fromCoder).root).toBe('alice');
      expect(guard.admit(fromMeta({}), { principal: 'coder' }).hop.depth).toBe(1);
      expect(guard.admit(fromMeta({}), { ...eve, agentId: 'files' }).hop.depth).toBe(1);
      forget();
      expect(guard.servesStarted).toBe(false);
      expect(guard.admit(fromMeta({}), fromCoder)).toMatchObject({
        hop: { depth: 1 },
        root: 'eve',
      });
    });

    it('knows the lowest tier of a chain, whatever key its agents call back with', () => {
      const guard = new RecursionGuard();
      const coder = { principal: 'coder', tier: 'org' } as const;
      const tierOf = (traceId?: string) =>
        guard.admit(traceId === undefined ? fromMeta({}) : rootOf(traceId), coder).originTier;
      expect(tierOf()).toBe('org');
      const [trusted, guest] = (['local', 'public'] as const).map((tier) => {
        const call = guard.admit(rootOf(createTrace().trace_id), { principal: tier, tier });
        expect(call.originTier).toBe(tier);
        const { trace, hop } = call;
        return { trace, forget: guard.track(trace, hop, { ...call, agentPrincipal: 'coder' }) };
      });
      expect(tierOf(trusted?.trace.trace_id)).toBe('org');
      expect(tierOf(guest?.trace.trace_id)).toBe('public');
      // Without a trace it may act for either.
      expect(tierOf()).toBe('public');
      guest?.forget();
      expect(tierOf()).toBe('org');
    });
  });
});
