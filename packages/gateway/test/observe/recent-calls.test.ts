import { describe, expect, it } from 'vitest';
import { type CallEntry, RecentCalls } from '../../src/observe/recent-calls.ts';

function entry(trace_id: string, more: Partial<CallEntry> = {}): CallEntry {
  return {
    trace_id,
    span_id: `${trace_id}-span`,
    started_at: Date.UTC(2026, 0, 1),
    tool: 'fabric.call',
    principal: null,
    stream: false,
    attempts: [],
    agent_id: null,
    capability: null,
    ms: null,
    ok: null,
    code: null,
    fallback: false,
    events: 0,
    first_event_ms: null,
    ...more,
  };
}

const ended = (calls: RecentCalls, ...entries: CallEntry[]) => {
  for (const call of entries) {
    calls.started(call);
    calls.ended(call);
  }
};

const traces = (records: readonly { trace_id: string }[]) => records.map((one) => one.trace_id);

describe('recent calls', () => {
  it('shows those that run first, then those that ended, the newest first', () => {
    const calls = new RecentCalls();
    ended(calls, entry('a', { ok: true }), entry('b', { ok: false }));
    const running = entry('c');
    calls.started(running);
    calls.started(entry('d'));
    expect(traces(calls.list())).toEqual(['d', 'c', 'b', 'a']);
    expect(calls.activeCount).toBe(2);
    calls.ended(running);
    expect(traces(calls.list())).toEqual(['d', 'c', 'b', 'a']);
    expect(calls.activeCount).toBe(1);
    expect(calls.list()[0]).toMatchObject({ ok: null, ms: null });
    expect(calls.list()[0]?.started_at).toBe('2026-01-01T00:00:00.000Z');
  });

  it('keeps only so many that ended', () => {
    const calls = new RecentCalls(3);
    ended(calls, ...['a', 'b', 'c'].map((id) => entry(id)));
    expect(traces(calls.list())).toEqual(['c', 'b', 'a']);
    ended(calls, entry('d'), entry('e'));
    expect(traces(calls.list())).toEqual(['e', 'd', 'c']);
    expect(calls.get('a')).toEqual([]);
  });

  it('keeps a thousand unless told otherwise', () => {
    const calls = new RecentCalls();
    ended(calls, ...Array.from({ length: 1200 }, (_, index) => entry(`t${index}`)));
    expect(calls.list({ limit: 5000 })).toHaveLength(1000);
    expect(calls.list()).toHaveLength(100);
  });

  it('filters by agent, also by one that was only tried, by outcome and by number', () => {
    const calls = new RecentCalls();
    const tried = { agent_id: 'percy', node_id: 'n1', ok: false, code: 'TIMEOUT', ms: 3 };
    ended(
      calls,
      entry('a', { agent_id: 'percy', ok: true }),
      entry('b', { agent_id: 'backup', ok: true, attempts: [tried] }),
      entry('c', { agent_id: 'coder', ok: false }),
    );
    calls.started(entry('d', { agent_id: 'percy' }));
    expect(traces(calls.list({ agent_id: 'percy' }))).toEqual(['d', 'b', 'a']);
    expect(traces(calls.list({ agent_id: 'percy', ok: true }))).toEqual(['b', 'a']);
    expect(traces(calls.list({ ok: false }))).toEqual(['c']);
    expect(traces(calls.list({ limit: 2 }))).toEqual(['d', 'c']);
  });

  it('gives every call on a trace, as a copy that later changes do not reach', () => {
    const calls = new RecentCalls();
    const outer = entry('a', { span_id: 'outer' });
    calls.started(outer);
    ended(calls, entry('a', { span_id: 'inner', ok: true }), entry('b'));
    const found = calls.get('a');
    outer.attempts.push({ agent_id: 'percy', node_id: 'n1', ok: true, ms: 1 });
    outer.events = 4;
    expect(found.map(({ span_id }) => span_id)).toEqual(['outer', 'inner']);
    expect(found[0]).toMatchObject({ attempts: [], events: 0 });
  });
});
