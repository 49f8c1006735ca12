import { describe, expect, it } from 'vitest';
import type { CallRow } from '../src/api-types.ts';
import { CallList, MAX_ROWS, matches, merge } from '../src/state/call-list.ts';
import { createCalls } from './support/fake-answers.ts';

const calls = createCalls(20);
const first = calls[0] as CallRow;
const changes = (...rows: CallRow[]) => new Map(rows.map((row) => [row.call_id, row]));
const fresh = (id: string, change: Partial<CallRow> = {}): CallRow => ({
  ...first,
  call_id: id,
  at: new Date(Date.now() + 1000).toISOString(),
  ...change,
});

describe('the list of calls', () => {
  it('puts new calls on top and changes known ones in place', () => {
    const ended = { ...(calls[5] as CallRow), status: 'cancelled' as const };
    const { rows, waiting } = merge(calls, changes(ended, fresh('new')), {}, false);
    expect(rows.map(({ call_id }) => call_id)).toEqual(['new', ...calls.map((row) => row.call_id)]);
    expect(rows[6]).toBe(ended);
    expect(waiting.size).toBe(0);
  });

  it('lets new calls wait while the person reads further down', () => {
    const { rows, waiting } = merge(calls, changes(fresh('new')), {}, true);
    expect(rows).toEqual(calls);
    expect([...waiting.keys()]).toEqual(['new']);
  });

  it('keeps the end of a call that a late line shows as running', () => {
    const { rows } = merge(calls, changes({ ...first, status: 'running' }), {}, false);
    expect(rows[0]).toBe(first);
  });

  it('keeps calls that the stream brings while the list is read', async () => {
    const answers = Promise.withResolvers<Response>();
    const before = { fetch: globalThis.fetch, location: globalThis.location };
    Object.assign(globalThis, {
      fetch: () => answers.promise,
      location: { href: 'http://127.0.0.1/console/' },
    });
    try {
      const list = new CallList({});
      const reading = list.refresh();
      list.take({ type: 'call', call: fresh('new') });
      answers.resolve(Response.json({ ok: true, running: true, scope: 'all', calls }));
      await reading;
      expect(list.rows.value.map(({ call_id }) => call_id)).toContain('new');
      expect(list.rows.value).toHaveLength(calls.length + 1);
      list.close();
    } finally {
      Object.assign(globalThis, before);
    }
  });

  it('shows only calls that match, and takes out one that no longer does', () => {
    const running = fresh('a', { status: 'running' });
    const filter = { status: 'running' };
    expect(merge([], changes(fresh('b'), running), filter, false).rows).toEqual([running]);
    const ended = { ...running, status: 'ok' as const };
    expect(merge([running], changes(ended), filter, false).rows).toEqual([]);
  });

  it('never holds more rows than it can show', () => {
    const many = createCalls(MAX_ROWS);
    const { rows } = merge(many, changes(fresh('new')), {}, false);
    expect(rows).toHaveLength(MAX_ROWS);
    expect(rows[0]?.call_id).toBe('new');
  });

  it('filters by agent, code, words and duration as the gateway does', () => {
    const call = fresh('a', {
      agent_id: 'percy',
      primary_id: 'flaky',
      status: 'error',
      error_code: 'TIMEOUT',
      duration_ms: 1500,
    });
    expect(matches(call, { agent: 'flaky' })).toBe(true);
    expect(matches(call, { agent: 'coder,percy' })).toBe(true);
    expect(matches(call, { status: 'TIMEOUT' })).toBe(true);
    expect(matches(call, { status: 'ok' })).toBe(false);
    expect(matches(call, { q: 'PERCY timeout' })).toBe(true);
    expect(matches(call, { q: 'percy coder' })).toBe(false);
    expect(matches(call, { min_ms: '2000' })).toBe(false);
  });
});
